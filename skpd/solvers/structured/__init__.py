"""Methods for structured losses, which are functions of all scores together."""
