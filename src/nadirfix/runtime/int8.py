"""Which weights are stored in int8: the same ones in every file of a network."""

__all__ = ["LARGE"]

#: Tensors with fewer numbers are not quantised: there is nothing to gain. Weights to train on
#: (``train.models.embedder_checkpoint``) must equal those that run (``offline.compress``): both read it here.
LARGE = 4096
