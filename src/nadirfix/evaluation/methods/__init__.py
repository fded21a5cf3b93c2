"""Methods of locating a photo, ours and others, on the same references and photos (ADR 58)."""
