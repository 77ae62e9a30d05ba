"""Newton methods."""
