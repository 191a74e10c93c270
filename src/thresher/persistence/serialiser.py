"""The serialiser: frozen dataclasses of arrays, numbers, strings and dataclasses as arrays, JSON.

A file names classes, never code: a `Serialiser` makes instances of its own classes only. Every
field is compared with its annotation. A class with a ``check_fields`` method validates the rest,
such as shapes, before the object is used; it raises ValueError.
"""

import dataclasses
from collections.abc import Mapping
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse

from thresher.persistence.contents import Contents, put_strings
from thresher.persistence.files import STORABLE

_INTEGER_LIMIT = 2**63


class NotSavableError(ValueError):
    """A value that no file can hold."""


class Serialiser:
    """Values of known classes as arrays and JSON, and back.

    Parameters
    ----------
    classes : mapping of str to type
        Dataclasses that a file may name.
    """

    def __init__(self, classes: Mapping[str, type]) -> None:
        self._classes = dict(classes)

    # --------------------------------------------------------------------- to a file

    def pack(self, name: str, value: Any, arrays: dict[str, Any]) -> Any:
        """Return a value as JSON; arrays go to ``arrays`` under names that begin with ``name``."""
        kind = type(value)
        if value is None or isinstance(value, bool | str) or kind in (int, float):
            return value
        if isinstance(value, np.generic) and value.dtype.name in STORABLE:
            return {"number": value.item(), "type": value.dtype.name}
        if isinstance(value, type) and self._classes.get(value.__name__) is value:
            return {"kind": value.__name__}
        if self._classes.get(kind.__name__) is kind:
            fields = {
                f.name: self.pack(f"{name}.{f.name}", getattr(value, f.name), arrays)
                for f in dataclasses.fields(self._classes[kind.__name__])
                if f.init
            }
            return {"part": kind.__name__, "fields": fields}
        if isinstance(value, np.ndarray):
            return _pack_array(name, value, arrays)
        if sparse.issparse(value):
            return _pack_sparse(name, value, arrays)
        if kind in (list, tuple):
            return self._pack_list(name, value, arrays)
        if kind is dict and all(isinstance(key, str) for key in value):
            pairs = enumerate(value.items())
            return {"dict": [[key, self.pack(f"{name}.{n}", v, arrays)] for n, (key, v) in pairs]}
        raise NotSavableError(
            f"{_shown(name)}={value!r} cannot be saved; use a part of the library or a number, or "
            "set it to None before saving and again after loading."
        )

    def _pack_list(self, name: str, value: Any, arrays: dict[str, Any]) -> Any:
        try:
            numbers = np.array(value)
        except ValueError:  # rows of several lengths
            numbers = np.array(None)
        # Long lists are shorter as arrays, if they come back as they were.
        if numbers.dtype.name in STORABLE and repr(numbers.tolist()) == repr(value):
            arrays[name] = numbers
            return {"array": name, "list": True}
        items = [self.pack(f"{name}.{n}", item, arrays) for n, item in enumerate(value)]
        return {type(value).__name__: items}

    # ------------------------------------------------------------------- from a file

    def unpack(self, value: Any, contents: Contents) -> Any:
        """Return what `pack` was given; a `FileError` says what is wrong."""
        if isinstance(value, int) and abs(value) >= _INTEGER_LIMIT:
            raise contents.error("an integer exceeds 64 bits")
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if not isinstance(value, dict):
            raise contents.error("a value is a bare list")
        record = Contents(contents.arrays, value, contents.name)
        if "number" in value:
            return _unpack_number(record)
        if "kind" in value:
            return self._class(record.text("kind"), record)
        if "part" in value:
            return self._unpack_object(record)
        if "array" in value:
            numbers = _stored(record, "array")
            return numbers.tolist() if "list" in value else numbers
        if "strings" in value:
            words = contents.strings(record.text("strings"))
            return np.array(words, dtype=object if record.flag("objects") else str)
        if "sparse" in value:
            return _unpack_sparse(record)
        for kind in (list, tuple, dict):
            if isinstance(value.get(kind.__name__), list):
                return self._unpack_items(kind, value[kind.__name__], contents)
        raise contents.error("a value is of no known type")

    def unpack_as(self, kind: type, value: Any, contents: Contents) -> Any:
        """Return what `pack` was given if it is a ``kind``; a `FileError` otherwise."""
        found = self.unpack(value, contents)
        if not isinstance(found, kind):
            raise contents.error(f"a {type(found).__name__} stands in the place of {kind.__name__}")
        return found

    def _class(self, name: str, contents: Contents) -> Any:
        if name not in self._classes:
            raise contents.error(
                f"it asks for a part named {name[:40]!r}, which this Thresher does not have"
            )
        return self._classes[name]

    def _unpack_object(self, record: Contents) -> Any:
        kind = self._class(record.text("part"), record)
        given = {name: self.unpack(v, record) for name, v in record.record("fields").items()}
        annotations = get_type_hints(kind)
        hints = {f.name: annotations[f.name] for f in dataclasses.fields(kind) if f.init}
        found = build(kind, given, hints, record)
        if hasattr(found, "check_fields"):
            try:
                found.check_fields()
            except ValueError as error:
                raise record.error(f"{kind.__name__}: {error}") from error
        return found

    def _unpack_items(self, kind: type, items: list[Any], contents: Contents) -> Any:
        if kind is not dict:
            return kind(self.unpack(item, contents) for item in items)
        pairs = [one if isinstance(one, list) and len(one) == 2 else [None, None] for one in items]
        if not all(isinstance(key, str) for key, _ in pairs):
            raise contents.error("a record has names that are not strings")
        return {key: self.unpack(value, contents) for key, value in pairs}


def build(kind: Any, given: dict[str, Any], hints: dict[str, Any], contents: Contents) -> Any:
    """Make an object of a known class, from values that its annotations allow."""
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
    """Whether a value is what an annotation says; NaN is not a number."""
    if hint is Any:
        return True
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if hint in (int, bool):
        return isinstance(value, Integral | np.bool_) and abs(int(value)) < _INTEGER_LIMIT
    if hint is float:
        return isinstance(value, Real) and value == value
    if origin is tuple:
        return isinstance(value, list | tuple | np.ndarray) and all(
            _fits(item, get_args(hint)[0]) for item in value
        )
    checkable = origin or hint
    return not isinstance(checkable, type) or isinstance(value, checkable)


# --------------------------------------------------------------------------- arrays


def _shown(name: str) -> str:
    return name.removeprefix("parameter.")


def _pack_array(name: str, value: Any, arrays: dict[str, Any]) -> Any:
    if value.dtype.name in STORABLE:
        arrays[name] = value
        return {"array": name}
    if value.ndim == 1 and all(isinstance(word, str) for word in value.tolist()):
        put_strings(arrays, name, value)
        return {"strings": name, "objects": value.dtype == object}
    raise NotSavableError(
        f"{_shown(name)} is an array of the type {value.dtype}, which cannot be saved; use numbers "
        "or strings."
    )


def _pack_sparse(name: str, value: Any, arrays: dict[str, Any]) -> Any:
    rows = sparse.csr_array(value)
    if rows.dtype.name not in STORABLE or rows.ndim != 2:
        raise NotSavableError(
            f"{_shown(name)} cannot be saved; use a sparse matrix of real numbers."
        )
    arrays[f"{name}.data"] = rows.data
    arrays[f"{name}.indices"] = rows.indices.astype(np.int64)
    arrays[f"{name}.indptr"] = rows.indptr.astype(np.int64)
    is_array = isinstance(value, sparse.sparray)
    return {"sparse": name, "width": rows.shape[1], "is_array": is_array}


def _stored(record: Contents, name: str) -> Any:
    place = record.text(name)
    if place not in record.arrays:
        raise record.error(f"the array {place!r} is missing")
    return record.arrays[place]


def _unpack_number(record: Contents) -> Any:
    kind = record.text("type")
    if kind not in STORABLE:
        raise record.error(f"{kind[:40]!r} is not a numeric type")
    try:
        return np.dtype(kind).type(record.value("number"))
    except (TypeError, ValueError, OverflowError) as error:
        raise record.error(f"a number cannot be read: {error}") from error


def _unpack_sparse(record: Contents) -> Any:
    name, width = record.text("sparse"), record.integer("width")
    indices = record.array(f"{name}.indices", (None,), ("int64",))
    indptr = record.array(f"{name}.indptr", (None,), ("int64",))
    data = record.array(f"{name}.data", (len(indices),), STORABLE, finite=False)
    kind = sparse.csr_array if record.flag("is_array") else sparse.csr_matrix
    try:
        # As CSR, whatever it was: other formats may need far more memory than the file has.
        rows: Any = kind((data, indices, indptr), shape=(len(indptr) - 1, width))
        rows.check_format(full_check=True)
        return rows
    except (ValueError, OverflowError) as error:
        raise record.error(f"a sparse matrix cannot be read: {error}") from error
