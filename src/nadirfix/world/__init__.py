"""A procedural place at two dates: the embedded default and the test bed."""

from nadirfix.world.make import World, make_world

__all__ = ["World", "make_world"]
