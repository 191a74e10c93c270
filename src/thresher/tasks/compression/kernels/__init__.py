"""Compiled loops of the codec; see `thresher.kernels.compiling` for how."""
