"""What edge and cloud both know, and keep alike."""

import struct
import zlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from thresher.linalg import Array
from thresher.tasks.compression.kernels.lattice import LatticeState, first_lattice
from thresher.tasks.compression.kernels.mask import MaskState, first_mask
from thresher.tasks.compression.kernels.transform import TransformState, first_transform


@dataclass(frozen=True)
class CodecState:
    """Last values, models and the cloud's dictionary; computed from decoded numbers alone."""

    mask: MaskState
    lattice: LatticeState
    transform: TransformState

    @classmethod
    def starting_at(cls, level: Array) -> Self:
        """Values from which to start; models that have seen nothing."""
        N = len(level)
        return cls(first_mask(N), first_lattice(level), first_transform(N))

    @property
    def n_sensors(self) -> int:
        """N."""
        return len(self.level)

    @property
    def level(self) -> Array:
        """The last decoded values; of missing sensors, what is expected."""
        level: Array = self.lattice.level
        return level

    @property
    def D(self) -> Array:  # noqa: N802, the notation of the papers
        """The cloud's dictionary, atoms in rows."""
        D: Array = self.transform.D
        return D

    def _parts(self) -> tuple[Any, ...]:
        return (self.mask, self.lattice, self.transform)

    def copy(self) -> Self:
        """A copy that shares nothing."""
        return type(self)(*(type(part)(*(a.copy() for a in part)) for part in self._parts()))

    def digest(self, n_rows: int, sequence: int) -> int:
        """A checksum of all of it, of the rows so far, and of the packet's number."""
        checksum = zlib.crc32(struct.pack("<QI", n_rows, sequence))
        for part in self._parts():
            for array in part:
                checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
        return checksum
