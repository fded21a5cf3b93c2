"""References that look like the photo, and the place they speak for together."""
