"""Methods for matrices of low rank, whose iterates are stored as factors."""
