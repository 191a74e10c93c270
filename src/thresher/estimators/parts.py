"""Parameters as JSON and back: numbers, strings, arrays, and the library's own parts.

A file names parts, never code: `PARTS` is all that it can ask for, and every field is compared with
its annotation before a part is made.
"""

import dataclasses
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse

from thresher import learning, losses, penalties, sets
from thresher.engine import MannWhitneyDrift
from thresher.losses import Loss
from thresher.penalties import Penalty
from thresher.persistence import STORABLE, Contents, put_strings
from thresher.sets import ConvexSet
from thresher.solvers import PUBLISHED

_SCHEDULES = (learning.HalfLife, learning.PlainAverage, learning.PowerForgetting)


def _public(module: Any, kind: type) -> list[type]:
    named = (getattr(module, name) for name in module.__all__)
    return [
        part
        for part in named
        if isinstance(part, type) and issubclass(part, kind) and dataclasses.is_dataclass(part)
    ]


PARTS: dict[str, type] = {
    part.__name__: part
    for part in (
        *_public(sets, ConvexSet),
        *_public(penalties, Penalty),
        *_public(losses, Loss),
        *_SCHEDULES,
        MannWhitneyDrift,
        *PUBLISHED.values(),
    )
}
"""Parts that a saved model may contain as parameters."""

_TOO_LARGE = 2**63


class NotSavableError(ValueError):
    """A parameter that no file can hold."""


# --------------------------------------------------------------------------- to a file


def packed_value(name: str, value: Any, arrays: dict[str, Any]) -> Any:
    """A parameter for a JSON document; numbers in rows go to ``arrays``."""
    if value is None or isinstance(value, bool | str) or type(value) in (int, float):
        return value
    if isinstance(value, np.generic) and value.dtype.name in STORABLE:
        return {"number": value.item(), "type": value.dtype.name}
    if isinstance(value, type) and PARTS.get(value.__name__) is value:
        return {"kind": value.__name__}
    if PARTS.get(type(value).__name__) is type(value):
        fields = {
            f.name: packed_value(f"{name}.{f.name}", getattr(value, f.name), arrays)
            for f in dataclasses.fields(PARTS[type(value).__name__])
            if f.init
        }
        return {"part": type(value).__name__, "fields": fields}
    if isinstance(value, np.ndarray):
        return _packed_array(name, value, arrays)
    if sparse.issparse(value):
        return _packed_sparse(name, value, arrays)
    if type(value) in (list, tuple):
        return _packed_list(name, value, arrays)
    if type(value) is dict and all(isinstance(key, str) for key in value):
        pairs = enumerate(value.items())
        return {"dict": [[key, packed_value(f"{name}.{n}", v, arrays)] for n, (key, v) in pairs]}
    raise NotSavableError(
        f"{name.removeprefix('parameter.')}={value!r} cannot be saved; use a part of the library "
        "or a number, or set it to None before saving and again after loading."
    )


def _packed_array(name: str, value: Any, arrays: dict[str, Any]) -> Any:
    if value.dtype.name in STORABLE:
        arrays[name] = value
        return {"array": name}
    if value.ndim == 1 and all(isinstance(word, str) for word in value.tolist()):
        put_strings(arrays, name, value)
        return {"strings": name, "objects": value.dtype == object}
    raise NotSavableError(
        f"{name.removeprefix('parameter.')} is an array of the type {value.dtype}, which cannot be "
        "saved; use numbers or strings."
    )


def _packed_list(name: str, value: Any, arrays: dict[str, Any]) -> Any:
    kind = "list" if type(value) is list else "tuple"
    try:
        numbers = np.array(value)
    except ValueError:  # rows of several lengths
        numbers = np.array(None)
    # Long lists are shorter as arrays, if they come back as they were.
    if numbers.dtype.name in STORABLE and repr(numbers.tolist()) == repr(value):
        arrays[name] = numbers
        return {"array": name, "list": True}
    items = [packed_value(f"{name}.{n}", item, arrays) for n, item in enumerate(value)]
    return {kind: items}


def _packed_sparse(name: str, value: Any, arrays: dict[str, Any]) -> Any:
    rows = sparse.csr_array(value)
    if rows.dtype.name not in STORABLE or rows.ndim != 2:
        raise NotSavableError(
            f"{name.removeprefix('parameter.')} is no sparse matrix of real numbers."
        )
    arrays[f"{name}.data"] = rows.data
    arrays[f"{name}.indices"] = rows.indices.astype(np.int64)
    arrays[f"{name}.indptr"] = rows.indptr.astype(np.int64)
    is_array = isinstance(value, sparse.sparray)
    return {"sparse": name, "width": rows.shape[1], "is_array": is_array}


# ------------------------------------------------------------------------- from a file


def unpacked_value(value: Any, contents: Contents) -> Any:
    """What `packed_value` was given."""
    if isinstance(value, int) and abs(value) >= _TOO_LARGE:
        raise contents.error("a parameter has more digits than any number here")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if not isinstance(value, dict):
        raise contents.error("a parameter is a bare list")
    record = Contents(contents.arrays, value, contents.name)
    if "number" in value:
        return _unpacked_number(record)
    if "kind" in value:
        return _part(record, "kind")
    if "part" in value:
        return _unpacked_part(record)
    if "array" in value:
        numbers = _stored(record, "array")
        return numbers.tolist() if "list" in value else numbers
    if "strings" in value:
        words = contents.strings(record.text("strings"))
        return np.array(words, dtype=object if record.flag("objects") else str)
    if "sparse" in value:
        return _unpacked_sparse(record)
    for kind in (list, tuple, dict):
        if isinstance(value.get(kind.__name__), list):
            return _unpacked_items(kind, value[kind.__name__], contents)
    raise contents.error("a parameter is of no known kind")


def _stored(record: Contents, name: str) -> Any:
    place = record.text(name)
    if place not in record.arrays:
        raise record.error(f"the array {place!r} is missing")
    return record.arrays[place]


def _unpacked_number(record: Contents) -> Any:
    kind = record.text("type")
    if kind not in STORABLE:
        raise record.error(f"{kind[:40]!r} is no type of numbers")
    try:
        return np.dtype(kind).type(record.value("number"))
    except (TypeError, ValueError, OverflowError) as error:
        raise record.error(f"a number is none: {error}") from error


def _part(record: Contents, name: str) -> Any:
    kind = record.text(name)
    if kind not in PARTS:
        raise record.error(
            f"it asks for a part named {kind[:40]!r}, which this Thresher does not have"
        )
    return PARTS[kind]


def _unpacked_part(record: Contents) -> Any:
    kind = _part(record, "part")
    given = {name: unpacked_value(v, record) for name, v in record.record("fields").items()}
    hints = {f.name: get_type_hints(kind)[f.name] for f in dataclasses.fields(kind) if f.init}
    return made(kind, given, hints, record)


def _unpacked_sparse(record: Contents) -> Any:
    name, width = record.text("sparse"), record.integer("width")
    indices = record.array(f"{name}.indices", (None,), ("int64",))
    indptr = record.array(f"{name}.indptr", (None,), ("int64",))
    data = record.array(f"{name}.data", (len(indices),), STORABLE, finite=False)
    kind = sparse.csr_array if record.flag("is_array") else sparse.csr_matrix
    try:
        # As CSR, whatever it was: other formats may need far more room than the file has.
        rows: Any = kind((data, indices, indptr), shape=(len(indptr) - 1, width))
        rows.check_format(full_check=True)
        return rows
    except (ValueError, OverflowError) as error:
        raise record.error(f"a sparse matrix is none: {error}") from error


def _unpacked_items(kind: type, items: list[Any], contents: Contents) -> Any:
    if kind is not dict:
        return kind(unpacked_value(item, contents) for item in items)
    pairs = [pair if isinstance(pair, list) and len(pair) == 2 else [None, None] for pair in items]
    if not all(isinstance(key, str) for key, _ in pairs):
        raise contents.error("a parameter has names that are not strings")
    return {key: unpacked_value(value, contents) for key, value in pairs}


def made(kind: Any, given: dict[str, Any], hints: dict[str, Any], contents: Contents) -> Any:
    """An object of a known kind, from values that fit what its constructor says of them."""
    for name, value in given.items():
        if name not in hints:
            raise contents.error(f"{kind.__name__} has no parameter {name[:40]!r}")
        if not _fits(value, hints[name]):
            raise contents.error(f"{name}={str(value)[:40]} does not suit {kind.__name__}")
    try:
        return kind(**given)
    except (TypeError, ValueError, OverflowError) as error:
        raise contents.error(f"{kind.__name__} cannot be made: {error}") from error


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says; NaN is no number."""
    if hint is Any:
        return True
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if hint in (int, bool):
        return isinstance(value, Integral | np.bool_) and abs(int(value)) < _TOO_LARGE
    if hint is float:
        return isinstance(value, Real) and value == value
    if origin is tuple:
        return isinstance(value, list | tuple | np.ndarray) and all(
            _fits(item, get_args(hint)[0]) for item in value
        )
    checkable = origin or hint
    return not isinstance(checkable, type) or isinstance(value, checkable)
