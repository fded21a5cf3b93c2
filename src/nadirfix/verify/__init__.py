"""Geometric verification: does the map show what the photo shows, exactly where, and how sure is that."""
