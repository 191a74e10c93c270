"""A memory of the directions in which documents lie: spherical k-means on a stream.

Every direction k holds the sum ``s_k`` of the unit vectors of its documents. Documents go to the
direction of the largest cosine, and what all directions together explain,

    Σ_documents max_k cos(x, s_k) = Σ_k ‖s_k‖,

is what is maximised. New documents are added in a few rounds of assignment beside the sums of the
past. The most surprising of them found directions of their own, and as many of the old ones are
then joined again, always the pair that loses least of ``Σ‖s_k‖``: so the memory stays of one size,
follows the stream, and forgets nothing altogether.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from thresher.linalg import Array

# By judgement; what comes of them is measured in docs/lab/novelty.md.
_FIRST_ROUNDS = 10  # of k-means on the first documents
_ROUNDS = 3  # on those of a step
_FOUNDERS = 0.01  # of a hundred documents one may found a direction
_ALONE = 0.5  # of a length of one, which any other document leaves: weights change a little
_SURPRISE = 4  # with a probability ∝ (1 − cosine)⁴: a surprising document, not just any


@dataclass(frozen=True)
class Directions:
    """Sums of unit vectors, of at most ``n_directions`` directions.

    Attributes
    ----------
    sums : float32 array of shape (F, K)
        ``s_k`` in columns: the directions of a word lie side by side.
    n_directions : int
        The most there may be.
    seed, n_steps : int
        Founders are drawn from these.
    """

    sums: Array
    n_directions: int
    seed: int
    n_steps: int = 0

    @classmethod
    def none(cls, n_directions: int, n_features: int, seed: int) -> "Directions":
        """Before the first document."""
        return cls(np.zeros((n_features, 0), dtype=np.float32), n_directions, seed)

    @property
    def lengths(self) -> Array:
        """``‖s_k‖``."""
        return np.sqrt(np.einsum("fk,fk->k", self.sums, self.sums, dtype=np.float64))

    def cosines(self, X: Any) -> Array:
        """Cosine of every document with every direction, shape (n, K); words unknown here count.

        X may be wider than the memory: those words have not been seen yet, but they are part of
        how long a document is.
        """
        return _cosines(self._known(unit_rows(X)), self.sums, self.lengths)

    def left_out_cosines(self, X: Any) -> Array:
        """Cosine of every document with its nearest direction, had it not been learned.

        Its unit vector u is taken out of the direction in which it lies, ``s_k − u``; another may
        then be nearer. If next to nothing is left, it was alone there: other documents would leave
        a length of one at least.
        """
        rows = self._known(unit_rows(X))
        own = np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
        cosines = _cosines(rows, self.sums, self.lengths).astype(np.float64)
        places = np.arange(len(cosines))
        nearest = cosines.argmax(axis=1)
        length = self.lengths[nearest] if self.sums.shape[1] else np.zeros(len(cosines))
        along = cosines[places, nearest] * length
        left = np.sqrt(np.maximum(length**2 - 2 * along + own, 0))
        others = left > _ALONE
        cosines[places, nearest] = np.where(others, (along - own) / np.where(others, left, 1), 0)
        return np.maximum(cosines.max(axis=1), 0)

    def learned(self, X: Any) -> "Directions":
        """With some documents added; rows without a word are left out."""
        known = self._known(unit_rows(X))
        known = known[np.diff(known.indptr) > 0]
        if known.shape[0] == 0:
            return self
        rng = np.random.default_rng([self.seed, self.n_steps])
        first = self.sums.shape[1] == 0
        if first:
            sums, founders = self.sums, _spread(known, self.n_directions, rng)
        else:
            sums = self.sums
            surprise = 1 - _cosines(known, sums, self.lengths).max(axis=1)
            founders = _drawn(surprise, _FOUNDERS * known.shape[0], rng)
        # A founder weighs next to nothing, so that it goes where its company is.
        new = 1e-3 * known[founders].toarray().T
        sums = np.hstack([sums, new.astype(np.float32)])
        for _ in range(_FIRST_ROUNDS if first else _ROUNDS):
            lengths = np.sqrt(np.einsum("fk,fk->k", sums, sums, dtype=np.float64))
            nearest = _cosines(known, sums, lengths).argmax(axis=1)
            sums = _added(np.hstack([self.sums, new.astype(np.float32)]), known, nearest)
        used = np.concatenate(
            [
                np.ones(self.sums.shape[1], bool),
                np.isin(np.arange(len(founders)) + self.sums.shape[1], nearest),
            ]
        )
        sums = _joined(sums[:, used], self.n_directions)
        return replace(self, sums=sums, n_steps=self.n_steps + 1)

    def grow(self, n_features: int) -> "Directions":
        """Make room for new words."""
        more = np.zeros((n_features - len(self.sums), self.sums.shape[1]), dtype=np.float32)
        return replace(self, sums=np.concatenate([self.sums, more]))

    def keep(self, columns: Any) -> "Directions":
        """Forget all words but some."""
        return replace(self, sums=self.sums[columns])

    def _known(self, X: Any) -> Any:
        """The words that the memory has room for."""
        return X if X.shape[1] == len(self.sums) else X[:, : len(self.sums)]


def unit_rows(X: Any) -> Any:
    """Rows of Euclidean length one, as float32 CSR; rows of zeros stay."""
    rows: Any = sparse.csr_array(X, dtype=np.float32, copy=True)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64)).ravel()
    rows.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(rows.indptr))
    return rows


def _cosines(rows: Any, sums: Array, lengths: Array) -> Array:
    if sums.shape[1] == 0:
        return np.zeros((rows.shape[0], 1))
    cosines: Array = (rows @ sums) / np.where(lengths > 0, lengths, 1)
    return cosines


def _added(sums: Array, rows: Any, nearest: Any) -> Array:
    """The sums with every row added to its nearest direction."""
    n, K = rows.shape[0], sums.shape[1]
    chosen = sparse.csr_array((np.ones(n, np.float32), (np.arange(n), nearest)), shape=(n, K))
    more = (rows.T @ chosen).tocoo()
    sums[more.row, more.col] += more.data
    return sums


def _spread(rows: Any, count: int, rng: np.random.Generator) -> Any:
    """Rows far from each other: every next one is drawn with its squared distance (k-means++)."""
    chosen = [int(rng.integers(rows.shape[0]))]
    best = np.zeros(rows.shape[0])
    while len(chosen) < min(count, rows.shape[0]):
        best = np.maximum(best, (rows @ rows[[chosen[-1]]].T).toarray().ravel())
        chances = np.maximum(1 - best, 0)
        chances[chosen] = 0
        if not chances.any():
            break  # the rest are copies
        chosen.append(int(rng.choice(len(chances), p=chances / chances.sum())))
    return np.array(chosen)


def _drawn(surprise: Array, expected: float, rng: np.random.Generator) -> Any:
    """Some rows, the more surprising the likelier; ``expected`` of them on the average."""
    count = int(expected) + int(rng.random() < expected % 1)
    chances = np.maximum(surprise, 0).astype(np.float64) ** _SURPRISE
    count = min(count, int((chances > 0).sum()))
    if count == 0:
        return np.zeros(0, dtype=np.intp)
    return rng.choice(len(chances), count, replace=False, p=chances / chances.sum())


def _joined(sums: Array, count: int) -> Array:
    """Join pairs, each time the one that loses least of ``Σ‖s_k‖``, until ``count`` are left."""
    K = sums.shape[1]
    if count >= K:
        return np.ascontiguousarray(sums)
    gram = (sums.T @ sums).astype(np.float64)
    group, alive = np.arange(K), np.ones(K, dtype=bool)
    while alive.sum() > count:
        squares = np.maximum(np.diag(gram), 0)
        lengths = np.sqrt(squares)
        together = np.sqrt(np.maximum(squares[:, None] + squares + 2 * gram, 0))
        loss = lengths[:, None] + lengths - together
        loss[~alive], loss[:, ~alive] = np.inf, np.inf
        np.fill_diagonal(loss, np.inf)
        i, j = np.unravel_index(loss.argmin(), loss.shape)
        gram[i] += gram[j]
        gram[:, i] += gram[:, j]
        alive[j] = False
        group[group == j] = i
    target = np.cumsum(alive) - 1
    joined = np.zeros((len(sums), count), dtype=sums.dtype)
    for k in range(K):
        joined[:, target[group[k]]] += sums[:, k]
    return joined
