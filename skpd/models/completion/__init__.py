"""Matrix completion: entries of a matrix of low rank, given by its factors."""
