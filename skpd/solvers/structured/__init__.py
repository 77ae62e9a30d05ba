"""Methods for losses of all scores together."""
