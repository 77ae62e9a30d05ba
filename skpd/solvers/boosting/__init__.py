"""Column generation for boosting, and the methods for its restricted problems."""
