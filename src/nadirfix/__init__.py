"""Where was this drone photo taken, and from how high? From the picture and a map alone."""

__version__ = "0.1.0"
