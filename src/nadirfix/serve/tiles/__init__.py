"""The map of a bundle as pictures: tiles and reference views."""
