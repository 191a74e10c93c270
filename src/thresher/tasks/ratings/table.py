"""Ratings as people have them, made a sparse matrix: CSR, lists of three, data frames."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thresher.estimators.frames import is_frame, with_plain_names
from thresher.linalg import Array, stored_rows

_WANTED = (
    "Give ratings as a sparse matrix of users × items, as (users, items, ratings), or as a data "
    "frame with these three columns first"
)
_LARGEST = 1e150


class Triples(NamedTuple):
    """Who rated what, and how: ids of users and items, and numbers."""

    users: Any
    items: Any
    values: Array


def triples_of(X: Any) -> Triples:
    """Ratings one by one; rows and columns of a matrix are numbers of users and items.

    What is stored of a sparse matrix are ratings, zeros among them; of a dense one, zeros and NaN
    are none.
    """
    if isinstance(X, tuple | list) and len(X) in (3, 4) and np.ndim(X[0]) == 1:
        return _checked(*X[:3])
    if is_frame(X):
        n_columns = len(with_plain_names(X)[1])
        if n_columns < 3:
            raise ValueError(f"{_WANTED}; this one has {n_columns} columns.")
        return _checked(*(_column(X, place) for place in range(3)))
    matrix = matrix_of(X)
    users = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return Triples(users, matrix.indices.astype(np.int64), matrix.data)


def matrix_of(X: Any, may_be_empty: bool = False) -> Any:
    """Ratings in rows of users, by what is stored."""
    rows: Any = X if sparse.issparse(X) else np.asarray(X)
    if isinstance(X, str | bytes):
        raise TypeError(f"{_WANTED}; got {type(X).__name__}.")
    if rows.ndim != 2:
        kind = f"an array of {rows.ndim} dimensions" if rows.ndim else type(X).__name__
        raise ValueError(f"{_WANTED}; got {kind}.")
    if rows.shape[1] == 0:
        raise ValueError(
            f"0 feature(s) (shape={rows.shape}) while a minimum of 1 is required: there is no item."
        )
    if rows.dtype.kind == "c":
        raise ValueError("Complex data not supported: ratings are real numbers.")
    try:
        rows = rows.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"Ratings are numbers. {_WANTED}.") from None
    matrix = stored_rows(sparse.csr_array(rows))
    if matrix.nnz or not may_be_empty:
        _check_values(matrix.data)
    return matrix


def pairs_of(X: Any) -> tuple[Any, Any]:
    """Users and items of pairs: two arrays, or the first two columns of a frame."""
    if is_frame(X):
        return _column(X, 0), _column(X, 1)
    if isinstance(X, tuple | list) and len(X) >= 2 and np.ndim(X[0]) == np.ndim(X[1]) == 1:
        users, items = np.asarray(X[0]), np.asarray(X[1])
        if len(users) == len(items):
            return users, items
    raise ValueError(
        "Give pairs as (users, items), two arrays of one length, or as a data frame with these "
        "columns first."
    )


def _checked(users: Any, items: Any, values: Any) -> Triples:
    users, items = np.asarray(users), np.asarray(items)
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("Ratings are numbers; the third column, or array, has others.") from None
    if not users.shape == items.shape == numbers.shape or numbers.ndim != 1:
        raise ValueError(
            f"Users, items and ratings are arrays of one length; got the shapes {users.shape}, "
            f"{items.shape} and {numbers.shape}."
        )
    known = ~np.isnan(numbers)
    users, items, numbers = users[known], items[known], numbers[known]
    _check_values(numbers)
    for ids, what in ((users, "a user"), (items, "an item")):
        missing = int(_missing(ids).sum())
        if missing:
            raise ValueError(f"{missing} of the ratings do not tell of {what}; leave them out.")
    return Triples(users, items, numbers)


def _missing(ids: Any) -> Any:
    """Which ids are none: None, NaN, NaT, NA."""
    if ids.dtype.kind == "O":
        return np.array([each is None or not _equals_itself(each) for each in ids], dtype=bool)
    return np.isnan(ids) if ids.dtype.kind in "fmM" else np.zeros(len(ids), dtype=bool)


def _equals_itself(each: Any) -> bool:
    same = each == each
    return isinstance(same, bool | np.bool_) and bool(same)  # pandas' NA says neither


def _check_values(values: Array) -> None:
    if not len(values):
        raise ValueError(f"There is no rating in these data. {_WANTED}.")
    if not np.isfinite(values).all():
        raise ValueError("Ratings must be finite numbers; leave out those that are not.")
    if np.abs(values).max() > _LARGEST:
        raise ValueError(
            f"Ratings must not exceed {_LARGEST:g}: their squares overflow. Scale them."
        )


def _column(frame: Any, place: int) -> Any:
    table, _ = with_plain_names(frame)
    return table[table.columns[place]].to_numpy()


class Names:
    """Ids of users or items in the order in which they came, and the number of each."""

    def __init__(self, ids: Any = ()) -> None:
        self.ids: list[Any] = list(ids)
        self._places = {each: place for place, each in enumerate(self.ids)}

    def __len__(self) -> int:
        return len(self.ids)

    def with_more(self, ids: Any) -> "Names":
        """With new ids at the end."""
        new = dict.fromkeys(each for each in _plain(_unique(ids)) if each not in self._places)
        return Names([*self.ids, *new]) if new else self

    def numbers(self, ids: Any) -> Any:
        """The number of each id, −1 of those that are not known."""
        found, places = _unique(ids, places=True)
        known = np.array([self._places.get(each, -1) for each in _plain(found)], dtype=np.int64)
        return known[places] if len(known) else np.empty(0, dtype=np.int64)

    def array(self) -> Any:
        """All ids; an array of numbers or of texts if they are."""
        kinds = {type(each) for each in self.ids}
        if kinds <= {int} or kinds <= {str}:
            return np.array(self.ids)
        array = np.empty(len(self.ids), dtype=object)
        array[:] = self.ids
        return array


def _unique(ids: Any, places: bool = False) -> Any:
    ids = np.asarray(ids)
    try:
        return np.unique(ids, return_inverse=True) if places else np.unique(ids)
    except TypeError:  # ids that have no order
        seen = dict.fromkeys(ids.tolist())
        known = np.empty(len(seen), dtype=object)
        known[:] = list(seen)
        if not places:
            return known
        number = {each: place for place, each in enumerate(known)}
        return known, np.array([number[each] for each in ids.tolist()], dtype=np.int64)


def _plain(ids: Any) -> list[Any]:
    """Python's own numbers and texts, which are the same whatever array they came in."""
    plain: list[Any] = ids.tolist()
    return plain
