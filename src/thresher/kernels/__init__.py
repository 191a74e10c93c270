"""The kernels layer."""
