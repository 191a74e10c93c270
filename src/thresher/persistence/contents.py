"""What a file holds, by name and kind; a `FileError` says what is missing or wrong."""

import reprlib
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGEST_INTEGER = 2**63 - 1  # of int64
_LONGEST_MESSAGE = 400  # letters of a damaged file that are shown; by judgement


class FileError(ValueError):
    """A file that is damaged, forged, not ours, or of a later version."""


@dataclass(frozen=True)
class Contents:
    """Arrays and a JSON document, of which nothing is believed before it has been checked.

    Attributes
    ----------
    arrays, document : dict
        As `read_file` gives them.
    name : str
        Of the file, for messages.
    """

    arrays: dict[str, NDArray[Any]]
    document: dict[str, Any]
    name: str

    def error(self, what: object) -> FileError:
        """The sentence for something that is wrong, cut short if a file made it long."""
        said = str(what).rstrip(".")
        said = said if len(said) <= _LONGEST_MESSAGE else f"{said[:_LONGEST_MESSAGE]}…"
        return FileError(f"{self.name} is not whole: {said}.")

    def inner(self, name: str) -> "Contents":
        """What belongs to a model inside: its document, and the arrays under its name."""
        return Contents(self.inner_arrays(name), self.record(name), self.name)

    def inner_arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The arrays under a name, without it."""
        prefix = f"{name}."
        return {n.removeprefix(prefix): V for n, V in self.arrays.items() if n.startswith(prefix)}

    # ---------------------------------------------------------------- the document

    def value(self, name: str) -> Any:
        """Anything."""
        if name not in self.document:
            raise self.error(f"{name!r} is missing")
        return self.document[name]

    def record(self, name: str) -> dict[str, Any]:
        """Names and values."""
        value = self.value(name)
        if not isinstance(value, dict):
            raise self.error(f"{name!r} is no record but {reprlib.repr(value)}")
        return value

    def text(self, name: str) -> str:
        """A string."""
        value = self.value(name)
        if not isinstance(value, str):
            raise self.error(f"{name!r} is no text but {reprlib.repr(value)}")
        return value

    def flag(self, name: str) -> bool:
        """Yes or no."""
        value = self.value(name)
        if not isinstance(value, bool):
            raise self.error(f"{name!r} must be true or false, not {reprlib.repr(value)}")
        return value

    def integer(self, name: str, least: int = 0) -> int:
        """A whole number that fits into 64 bits."""
        value = self.value(name)
        if type(value) is not int or not least <= value <= _LARGEST_INTEGER:
            raise self.error(f"{name!r} must be an integer from {least}, not {reprlib.repr(value)}")
        return value

    def number(self, name: str, finite: bool = True) -> float:
        """A real number."""
        value = self.value(name)
        good = isinstance(value, Real) and not isinstance(value, bool)
        if good and abs(value) > _LARGEST_INTEGER and isinstance(value, int):
            good = False  # more digits than a float has room for
        if not good or (finite and not np.isfinite(value)):
            raise self.error(f"{name!r} must be a number, not {reprlib.repr(value)}")
        return float(value)

    # ------------------------------------------------------------------ the arrays

    def array(
        self,
        name: str,
        shape: tuple[int | None, ...],
        dtypes: tuple[str, ...] = ("float64",),
        finite: bool = True,
    ) -> NDArray[Any]:
        """An array of one of these types, of this shape (None is any length), without NaN."""
        if name not in self.arrays:
            raise self.error(f"the array {name!r} is missing")
        values = self.arrays[name]
        if values.dtype.name not in dtypes:
            raise self.error(f"{name!r} has the type {values.dtype}, not {' or '.join(dtypes)}")
        fits = values.ndim == len(shape) and all(
            want is None or have == want for have, want in zip(values.shape, shape, strict=True)
        )
        if not fits:
            want = ", ".join("any" if length is None else str(length) for length in shape)
            raise self.error(f"{name!r} has the shape {values.shape} instead of ({want})")
        if finite and values.dtype.kind == "f" and not np.isfinite(values).all():
            raise self.error(f"{name!r} has entries that are not finite numbers")
        return values

    def places(self, name: str, length: int | None, count: int, least: int = 0) -> NDArray[np.intp]:
        """Numbers of columns, rows or classes, from ``least`` to one below ``count``."""
        values = self.array(name, (length,), ("int64",))
        if values.size and not least <= values.min() <= values.max() < count:
            raise self.error(f"{name!r} must lie between {least} and {count - 1}")
        return values.astype(np.intp, copy=False)

    def strings(self, name: str) -> list[str]:
        """What `put_strings` wrote."""
        content = self.array(name, (None,), ("uint8",)).tobytes()
        try:
            ends = self.array(f"{name}.ends", (None,), ("int64",))
            starts = np.concatenate([[0], ends[:-1]])
            if len(ends) and ((ends < starts).any() or ends[-1] != len(content)):
                raise self.error(f"the lengths of {name!r} do not add up")
            pairs = zip(starts.tolist(), ends.tolist(), strict=True)
            return [content[i:j].decode("utf-8", "surrogatepass") for i, j in pairs]
        except UnicodeDecodeError:
            raise self.error(f"{name!r} is no text") from None


def put_strings(arrays: dict[str, NDArray[Any]], name: str, words: Any) -> None:
    """Strings as arrays: their bytes one after the other, and where each ends."""
    parts = [str(word).encode("utf-8", "surrogatepass") for word in words]
    arrays[name] = np.frombuffer(b"".join(parts), dtype=np.uint8)
    arrays[f"{name}.ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)
