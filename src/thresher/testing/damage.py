"""What channels and disks do to bytes: to test that it is noticed."""

import numpy as np


def damaged(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Flipped bits, a cut, an insertion, swapped parts, parts of another packet, or noise."""
    A = bytearray(data)
    kind = rng.integers(6)
    if kind == 0:
        for at in rng.integers(8 * len(A), size=rng.integers(1, 9)):
            A[at // 8] ^= 1 << (at % 8)
    elif kind == 1:
        A = A[: rng.integers(len(A))]
    elif kind == 2:
        at = rng.integers(len(A) + 1)
        A[at:at] = rng.bytes(int(rng.integers(1, 9)))
    elif kind == 3:
        i, j = np.sort(rng.integers(len(A), size=2))
        A = A[j:] + A[i:j] + A[:i]
    elif kind == 4:
        at = rng.integers(min(len(A), len(other)))
        A[at:] = other[at:]
    else:
        A = bytearray(rng.bytes(int(rng.integers(200))))
    return bytes(A)
