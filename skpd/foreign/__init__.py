"""`certify`: linear models that other libraries have fitted."""
