"""A procedural place at two dates: the embedded default and the test bed."""
