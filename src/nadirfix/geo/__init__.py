"""Maps in metres: coordinate systems, windows of a map, textures, cells and rendering."""
