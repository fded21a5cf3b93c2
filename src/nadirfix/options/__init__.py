"""Every setting with its default: how a bundle is made, how a photo is placed, how a network is trained."""
