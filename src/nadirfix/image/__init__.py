"""Photos: decoding and tags, spectrum, crop."""
