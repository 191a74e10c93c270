r"""The compression scheme of paper D, section II-B, example 1.

An edge and a cloud both have a dictionary :math:`D_c`, and the edge learns one of its own, D. For
time slot t, one sample y after the other:

1. Codes :math:`c = T(y D_c^T)`, where T keeps the η₀ largest.
2. If :math:`\|y - c D_c\| > \mathrm{threshold} \cdot \|y\|`, or the cloud has no dictionary, the
   edge sends :math:`D_{t-1}` as N(N−1)/2 Givens angles, which is :math:`D_c` from then on, and y is
   coded again.
3. After the last sample, one step of Algorithm 2 (NoncvxSFW) on the slot gives :math:`D_t`.
4. The cloud recovers :math:`\hat y = c D_c`.

As printed, step 1 codes with :math:`D_{t-1}`, which is not what decodes the codes (errata D.6).
Missing values are the mean of the others, as in section V-C.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.engine.orthogonal import row_means
from thresher.learning import Progress, random_orthogonal
from thresher.learning.frank_wolfe import PowerSchedule
from thresher.learning.orthogonal import FrankWolfeLearner
from thresher.linalg import from_givens, givens_angles, polar

Array = NDArray[Any]


class Codes(NamedTuple):
    """The codes of some rows that are sent: positions and values, each of shape (n, η₀)."""

    positions: Array
    values: Array

    def decoded(self, D: Array) -> Array:
        """Return ``ŷ = c D``."""
        rows: Array = np.einsum("nk,nkj->nj", self.values, D[self.positions])
        return rows


class DictionaryAngles(NamedTuple):
    """An orthogonal dictionary as it is sent: Givens angles, and the sign of its determinant."""

    angles: Array
    sign: int

    @classmethod
    def of(cls, D: Array, bits: int | None, *, with_sign: bool = False) -> DictionaryAngles:
        """Return the angles of a dictionary, rounded to multiples of 2π / 2^bits if asked.

        Without its sign, the last atom is negated if need be, which the codes do not mind.
        """
        angles, sign = givens_angles(D)
        if bits is not None:
            unit = 2 * np.pi / 2**bits
            angles = np.rint(angles / unit) * unit
        return cls(angles, sign if with_sign else 1)

    def matrix(self, N: int) -> Array:
        """Return the dictionary."""
        return from_givens(self.angles, self.sign, N)


class DictionaryCompression:
    """The edge: codes the rows of a slot, and learns from them.

    Parameters
    ----------
    n_sensors : int
        N.
    n_nonzero : int
        η₀.
    threshold : float
        The relative error of a row above which a dictionary is sent.
    forgetting : float, optional
        Half-life in samples; the paper does not forget.
    angle_bits : int, optional
        Round angles to multiples of 2π / 2^bits; the paper does not say how they are sent.
    start : array of shape (N, N), optional
        D₀; by default a random orthogonal matrix.
    as_printed : bool
        Code with the edge's dictionary, send a sign, and send again within a slot.
    """

    def __init__(
        self,
        n_sensors: int,
        n_nonzero: int,
        threshold: float,
        *,
        forgetting: float | None = None,
        angle_bits: int | None = None,
        start: Array | None = None,
        as_printed: bool = False,
    ) -> None:
        self.D = random_orthogonal(n_sensors, np.random.default_rng(0)) if start is None else (
            polar(np.asarray(start, dtype=np.float64))
        )  # fmt: skip
        self.cloud: Array | None = None
        self._n_nonzero, self._threshold = min(n_nonzero, n_sensors), threshold
        self._forgetting, self._bits, self._as_printed = forgetting, angle_bits, as_printed
        # ρ_t = 4 (t + 1)^(−1/2) and γ_t = 2 (t + 2)^(−3/4), Table I
        self._learner = FrankWolfeLearner(
            PowerSchedule(4.0, 1.0, 0.5), PowerSchedule(2.0, 2.0, 0.75)
        )
        self._learned: Any = self._learner.begin(np.empty((0, n_sensors)), np.empty(0), self.D)
        self._n_slots = self._n_rows = 0

    def slot(self, Y: Array) -> Iterator[DictionaryAngles | Codes]:
        """Yield what is sent for the rows of a time slot, NaN where missing; then learn."""
        present = ~np.isnan(Y)
        filled = row_means(Y, None if present.all() else present)
        coded, is_new = list[tuple[Array, Array]](), False
        for y in filled:
            codes = self._codes(y)
            if self._exceeds(y, codes) and (self._as_printed or not is_new):
                if coded:
                    yield _joined(coded)
                sent = DictionaryAngles.of(self.D, self._bits, with_sign=self._as_printed)
                self.cloud, coded, is_new = sent.matrix(len(self.D)), [], True
                yield sent
                codes = codes if self._as_printed else self._codes(y)
            coded.append(codes)
        yield _joined(coded)
        self._learn(filled)

    def _codes(self, y: Array) -> tuple[Array, Array]:
        D = self.D if self._as_printed or self.cloud is None else self.cloud
        c = D @ y
        positions = np.argsort(-np.abs(c), kind="stable")[: self._n_nonzero]
        return positions, c[positions]

    def _exceeds(self, y: Array, codes: tuple[Array, Array]) -> bool:
        if self.cloud is None:
            return True
        positions, values = codes
        error = np.linalg.norm(y - values @ self.cloud[positions])
        return bool(error > self._threshold * np.linalg.norm(y))

    def _learn(self, Y: Array) -> None:
        n = len(Y)
        self._n_slots, self._n_rows = self._n_slots + 1, self._n_rows + n
        keep = 1.0 if self._forgetting is None else 2.0 ** (-n / self._forgetting)
        sums = self._learner.summarise(self._learned, self.D, Y, np.ones(n))
        progress = Progress(self._n_slots, n, self._n_rows, keep)
        self.D, self._learned = self._learner.learn(self._learned, sums, self.D, progress)


def _joined(rows: list[tuple[Array, Array]]) -> Codes:
    positions, values = zip(*rows, strict=True)
    return Codes(np.array(positions), np.array(values))
