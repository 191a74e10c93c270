"""Small files to try the commands on, made here, the same everywhere; none is downloaded."""

from .writing import KINDS, Sample, sample_files

__all__ = ["KINDS", "Sample", "sample_files"]
