"""The distributionally robust SVM, whose losses depend on the radius of the coefficients."""
