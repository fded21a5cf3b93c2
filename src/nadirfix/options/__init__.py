"""Every setting with its default: how a bundle is made, how a photo is located, how a network is trained."""
