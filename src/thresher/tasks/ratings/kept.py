"""All ratings that a model has seen: who rated what, the last word of each."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thresher.estimators.frames import is_frame
from thresher.linalg import Array
from thresher.tasks.ratings.table import Names, Triples, matrix_of, triples_of


class KeptRatings(NamedTuple):
    """Ids, and ratings as CSR of users × items, zeros stored."""

    users: Names
    items: Names
    X: Any

    @classmethod
    def none(cls) -> "KeptRatings":
        """Before anything was rated."""
        return cls(Names(), Names(), sparse.csr_array((0, 0), dtype=np.float64))

    @classmethod
    def of(cls, X: Any) -> "KeptRatings":
        """All that is given at once. A matrix has users and items who rated nothing, too."""
        if is_frame(X) or not (sparse.issparse(X) or hasattr(X, "__array__")):
            return cls.none().with_more(triples_of(X))[0]
        matrix = matrix_of(X)
        n, m = matrix.shape
        rows = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(n, m))
        return cls(Names(range(n)), Names(range(m)), rows)

    def with_more(self, triples: Triples) -> tuple["KeptRatings", Any, Any]:
        """With more ratings, which take the place of older ones, and the users and items of them.

        Of a pair that comes twice the last rating counts.
        """
        users, items = self.users.with_more(triples.users), self.items.with_more(triples.items)
        row, column = users.numbers(triples.users), items.numbers(triples.items)
        old_rows = np.repeat(np.arange(self.X.shape[0]), np.diff(self.X.indptr))
        places = np.concatenate([old_rows, row]) * len(items)
        places += np.concatenate([self.X.indices, column])
        values: Array = np.concatenate([self.X.data, triples.values])
        # Looked at from the end, the first of each place is the last that came.
        kept, last = np.unique(places[::-1], return_index=True)
        heads = np.bincount(kept // len(items), minlength=len(users))
        indptr = np.concatenate([[0], np.cumsum(heads)])
        data = values[::-1][last], kept % len(items), indptr
        X = sparse.csr_array(data, shape=(len(users), len(items)))
        return KeptRatings(users, items, X), np.unique(row), np.unique(column)
