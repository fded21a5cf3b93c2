"""Asking the map: does it show what the photo shows, exactly where, and how sure is that."""
