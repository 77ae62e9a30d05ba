"""Certificates for linear models that other libraries have fitted (`certify`)."""
