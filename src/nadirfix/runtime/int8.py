"""Which weights are stored in eight bits: the same ones in every file of a network."""

__all__ = ["LARGE"]

#: Tensors with fewer numbers are not put into eight bits: there is nothing to gain. What is trained on
#: (``nn.start``) must say what is run (``bundle.halve``), so that both ask here.
LARGE = 4096
