"""Kernel machines: matrices of kernels, their factors, and models of one or several kernels."""
