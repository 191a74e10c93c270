"""Pictures as rows of pixels and back, in the kind that they came in."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array


@dataclass(frozen=True)
class Pictures:
    """A stack of pictures as rows, and how to make a stack of rows again."""

    rows: Any
    """Of shape (n, pixels): bytes as they are, or floats with NaN in the gaps."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, images: Any, mask: Any = None) -> "Pictures":
        """A stack (n, height, width), in colours (n, height, width, 3); ``mask`` marks gaps."""
        if isinstance(images, np.ma.MaskedArray):
            hidden = np.ma.getmaskarray(images)
            mask = hidden if mask is None else _mask_of(mask, images.shape) | hidden
            images = images.data
        stack = np.asarray(images)
        good = stack.ndim == 3 or (stack.ndim == 4 and stack.shape[3] == 3)
        if not good or stack.dtype.kind not in "uif" or 0 in stack.shape:
            raise ValueError(
                "Photographs come as an array of numbers of the shape (n, height, width), or (n, "
                f"height, width, 3) in colours; got {stack.dtype} of the shape {stack.shape}. One "
                "picture is image[None]; they should be of one kind, and many."
            )
        return cls._from(stack.reshape(len(stack), -1), stack.shape[1:], mask)

    @classmethod
    def from_rows(cls, rows: Any, shape: tuple[int, ...]) -> "Pictures":
        """A batch of a source of pictures."""
        return cls._from(np.asarray(rows), shape, None)

    @classmethod
    def _from(cls, rows: Any, shape: tuple[int, ...], mask: Any) -> "Pictures":
        dtype = rows.dtype
        if mask is not None:
            hidden = _mask_of(mask, (len(rows), *shape)).reshape(rows.shape)
            precise = dtype if dtype.kind == "f" else np.dtype(np.float32)
            rows = np.where(hidden, np.nan, rows).astype(precise)
        return cls(rows, shape, dtype)

    @property
    def stack(self) -> Array:
        """The pictures in floats."""
        floats = self.rows if self.rows.dtype.kind == "f" else self.rows.astype(np.float32)
        return floats.reshape(-1, *self.shape)

    def like(self, stack: Array) -> Any:
        """Other pictures in the type of these; whole numbers are rounded, within their range."""
        if self.dtype.kind == "f":
            return stack.astype(self.dtype, copy=False)
        limits = np.iinfo(self.dtype)
        return np.rint(np.clip(stack, limits.min, limits.max)).astype(self.dtype)


def _mask_of(mask: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """A mask of the shape of the pictures; one without colours is that of all colours."""
    flags = np.asarray(mask)
    if flags.dtype == bool and flags.shape == shape[:3]:
        flags = flags.reshape(*shape[:3], *[1] * (len(shape) - 3))
        return np.broadcast_to(flags, shape)
    if flags.dtype != bool or flags.shape != shape:
        raise ValueError(
            f"mask must be True where a pixel is missing, in the shape {shape[:3]}; got "
            f"{flags.dtype} of the shape {flags.shape}."
        )
    return flags
