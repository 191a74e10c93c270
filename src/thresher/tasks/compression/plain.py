"""The plain fallback: rounded values, differences, and a general compressor.

Where values repeat exactly, or follow no law that the row models fit, a general compressor may be
smaller; then a batch is written like this. All columns are replaced by differences of one order,
column after column.

    layout 1 | mask, if values are missing | data

The layout is the bytes of an integer, plus 16 times the order, plus 64 if the bytes of integers are
separated.
"""

from __future__ import annotations

import numpy as np

from thresher.tasks.compression.columns import (
    pack_bytes,
    packed_size,
    smallest_integers,
    unpack_bytes,
)
from thresher.tasks.compression.quantise import Steps, on_grid
from thresher.tasks.compression.wire import Array, PacketError, Reader, part

_ORDERS = 3  # of differences: 0, 1, 2
_ORDER, _APART = 4, 64
_LARGEST = 2.0**50  # steps in a value: integers beyond are not exact in doubles


def rounded(Y: Array, steps: Steps) -> Array | None:
    """Return values as multiples of the steps; None if a step is too fine for them."""
    if np.abs(Y).max(initial=0.0) / steps.sizes.min() > _LARGEST:
        return None
    return np.rint(Y / steps.sizes).astype(np.int64)


def plain_values(Q: Array, steps: Steps) -> Array:
    """Return multiples of the steps, on the grids of their columns."""
    values = Q * steps.sizes
    return np.stack([on_grid(y, g) for y, g in zip(values.T, steps.grids, strict=True)], axis=1)


def write_plain(Q: Array, present: Array, effort: int, limit: float) -> bytes | None:
    """Return integers as bytes; None if an estimate exceeds a limit.

    Parameters
    ----------
    Q, present : arrays of shape (n, N)
        Integers, and where there are values.
    effort : int
        How many layouts are packed: those of the smallest estimates.
    limit : float
        Bytes.
    """
    # A missing value takes the one before, which costs least.
    kept = np.maximum.accumulate(np.where(present, np.arange(len(Q))[:, None], 0), axis=0)
    R = np.take_along_axis(Q, kept, axis=0).T
    candidates = list[tuple[int, int, bytes]]()
    for order in range(_ORDERS):
        small = smallest_integers(R)
        size = small.itemsize
        layouts = {size | order << _ORDER: small.tobytes()}
        if size > 1:
            planes = np.ascontiguousarray(small).reshape(-1).view(np.uint8).reshape(-1, size).T
            layouts[size | order << _ORDER | _APART] = planes.tobytes()
        candidates += [(packed_size(data), layout, data) for layout, data in layouts.items()]
        R = np.diff(R, axis=1, prepend=0)
    candidates.sort()
    if candidates[0][0] > limit:
        return None
    mask = b"" if present.all() else part(_packed_mask(present))
    ways = (bytes([how]) + mask + pack_bytes(x, effort) for _, how, x in candidates[:effort])
    return min(ways, key=len)


def read_plain(parts: Reader, n: int, N: int, is_whole: bool) -> tuple[Array, Array]:
    """Return integers, and where there are values."""
    (layout,) = parts.take(1)
    size, order = layout & 15, layout >> _ORDER & 3
    if size not in (1, 2, 4, 8) or order >= _ORDERS or layout >= 2 * _APART:
        raise PacketError("The packet does not decode: it has an unknown layout.")
    present = np.ones((n, N), bool) if is_whole else _unpacked_mask(parts.part(), n, N)
    data = np.frombuffer(unpack_bytes(parts.rest(), n * N * size), np.uint8)
    if layout & _APART:
        data = np.ascontiguousarray(data.reshape(size, n * N).T).reshape(-1)
    Q = data.view(f"<i{size}").astype(np.int64).reshape(N, n)
    for _ in range(order):
        Q = np.cumsum(Q, axis=1)
    return np.ascontiguousarray(Q.T), present


def _packed_mask(present: Array) -> bytes:
    """Return changes of presence from row to row, column after column."""
    changes = np.diff(present, axis=0, prepend=True)
    return pack_bytes(np.packbits(changes.T).tobytes())


def _unpacked_mask(data: bytes, n: int, N: int) -> Array:
    content = np.frombuffer(unpack_bytes(data, -(-n * N // 8)), np.uint8)
    changes = np.unpackbits(content, count=n * N).astype(bool).reshape(N, n).T
    return ~np.logical_xor.accumulate(changes, axis=0)
