"""Place recognition: the references most similar to a photo, and the position or view they vote for."""
