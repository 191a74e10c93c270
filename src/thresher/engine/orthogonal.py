"""The verbs of orthogonal dictionary learning: codes are one product, so little is left to do."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh, solve

from thresher.engine.method import StreamMethod
from thresher.engine.state import StreamState, Summary
from thresher.engine.units import OVERFLOW, check_largest, check_size, typical_size
from thresher.kernels.floors import TINY
from thresher.learning import (
    Forgetting,
    OrthogonalLearner,
    PlainAverage,
    Progress,
    keep_largest,
    principal_directions,
    random_orthogonal,
)
from thresher.linalg import Array, load_block
from thresher.streams import Batch

_DOUBLE = np.dtype(np.float64)
_HIGHEST_POWER = 4  # of the data, in the gradient of the ℓ4 norm


@dataclass(frozen=True)
class OrthogonalMethod(StreamMethod):
    """A learner of square dictionaries, and what each verb does with it.

    Parameters
    ----------
    learner : OrthogonalLearner
        What is summed up, and how the dictionary moves.
    n_scored : int
        How many codes of a sample are kept when its loss is measured.
    forgetting : Forgetting
        How much the past counts.
    whiten : bool
        Learn from ``y M^(−1/2)``, M the second moments so far: for complete dictionaries whose
        atoms are not orthogonal. What is shown is then ``D M^(1/2)``.
    """

    learner: OrthogonalLearner
    n_scored: int
    forgetting: Forgetting = field(default_factory=PlainAverage)
    whiten: bool = False

    # ---------------------------------------------------------------- starting

    def begin(
        self, batch: Batch, init: str | Array, n_atoms: int, dtype: np.dtype[Any], seed: int
    ) -> StreamState:
        """A state that has seen nothing; the batch version runs on the first batch."""
        check_size(typical_size(batch), _DOUBLE, _HIGHEST_POWER)
        check_largest(batch, 1.0, _DOUBLE, _HIGHEST_POWER)
        X, mask = load_block(batch.X, slice(0, batch.n_samples), _DOUBLE, batch.entry_weight)
        given = batch.sample_weight
        weight = np.ones(len(X)) if given is None or not given.any() else given
        Y = row_means(X, mask)
        N = n_atoms
        if self.whiten:
            M = shrunk_moments((Y * weight[:, None]).T @ Y, float(weight.sum()))
            Y = Y @ _whitening(M)[1]
        rng = np.random.default_rng([seed, 0])
        if not isinstance(init, str):
            D = self.learner.nearest(np.asarray(init, dtype=np.float64))
        elif init == "random":
            D = random_orthogonal(N, rng)
        elif init == "pca":
            D = principal_directions((Y * weight[:, None]).T @ Y)
        else:
            D = self.learner.start(Y, weight, rng)
        D = np.ascontiguousarray(D, dtype=dtype)
        statistics = self.learner.begin(Y, weight, D.astype(np.float64))
        return StreamState(D, D, statistics, seed)

    # ------------------------------------------------------------------- verbs

    def check(self, state: StreamState, batch: Batch) -> None:
        """Refuse entries that cannot be computed with in double precision and the data's unit."""
        check_largest(batch, 1.0, _DOUBLE, _HIGHEST_POWER)

    def load(self, batch: Batch, rows: slice, statistics: Any) -> Array:
        """A block of samples, gaps filled from the observed entries."""
        X, mask = load_block(batch.X, rows, _DOUBLE, batch.entry_weight)
        return X if mask is None else filled(X, mask, moments(statistics))

    def summariser(self, state: StreamState, batch: Batch) -> Callable[[slice], Summary]:
        """What codes a block on the dictionary of a state, and summarises it."""
        D = state.D.astype(np.float64, copy=False)
        past: Any = state.statistics
        atoms, whitener = self.atoms(state)
        nothing: Array = np.empty(0)

        def code_and_summarise(rows: slice) -> Summary:
            Y = self.load(batch, rows, past)
            given = batch.sample_weight
            weight = np.ones(len(Y)) if given is None else given[rows].astype(np.float64)
            samples = Y if whitener is None else Y @ whitener
            loss = float(weight @ self.losses(Y, self.learner.codes(samples, D), atoms))
            sums = self.learner.summarise(past, D, samples, weight)
            if whitener is not None:  # moments are of the samples as they came
                sums = replace(sums, S=(Y * weight[:, None]).T @ Y)
            return Summary(sums, loss, 0.0, nothing, nothing)

        return code_and_summarise

    def update(self, state: StreamState, batch: Batch, summary: Summary) -> StreamState:
        """Discount the past, add the batch, move the dictionary."""
        seen = state.weight_seen + batch.weight
        step = state.n_steps + 1
        progress = Progress(step, batch.weight, seen, self.forgetting(batch.weight, seen))
        before = state.D.astype(np.float64, copy=False)
        D, statistics = self.learner.update(state.statistics, summary.sums, before, progress)
        D = np.ascontiguousarray(D, dtype=state.D.dtype)
        after = state.changed(
            D=D,
            average=D,
            statistics=statistics,
            n_samples=state.n_samples + batch.n_samples,
            n_steps=step,
            weight_seen=seen,
        )
        if not self.whiten:
            return after
        atoms, _ = self.atoms(after)
        return after.changed(average=np.ascontiguousarray(atoms, dtype=state.D.dtype))

    # ------------------------------------------------------------------ coding

    def atoms(self, state: StreamState) -> tuple[Array, Array | None]:
        """The atoms that codes multiply, and ``M^(−1/2)`` if samples are whitened before."""
        D = state.D.astype(np.float64, copy=False)
        M = moments(state.statistics) if self.whiten else None
        if M is None:
            return D, None
        root, whitener = _whitening(M)
        return D @ root, whitener

    def coder(self, state: StreamState, batch: Batch) -> Callable[[slice], tuple[Array, Array]]:
        """What fills the gaps of a block and codes it: samples and all their codes."""
        D = state.D.astype(np.float64, copy=False)
        _, whitener = self.atoms(state)

        def code(rows: slice) -> tuple[Array, Array]:
            Y = self.load(batch, rows, state.statistics)
            return Y, self.learner.codes(Y if whitener is None else Y @ whitener, D)

        return code

    def kept(self, C: Array, atoms: Array, k: int) -> Array:
        """The k codes of every sample that contribute most."""
        return keep_largest(C, k, np.linalg.norm(atoms, axis=1) if self.whiten else None)

    def losses(self, Y: Array, C: Array, atoms: Array) -> Array:
        """``½‖y − c D‖²`` of every sample with its ``n_scored`` largest codes."""
        if self.learner.orthogonal and not self.whiten:  # the squares of the other codes
            k = min(self.n_scored, C.shape[1])
            losses: Array = 0.5 * np.partition(C * C, -k, axis=1)[:, :-k].sum(axis=1)
            return losses
        rest = Y - self.kept(C, atoms, self.n_scored) @ atoms
        losses = 0.5 * np.einsum("ij,ij->i", rest, rest)
        return losses


def moments(statistics: Any) -> Array | None:
    """Mean second moments of the stream so far; None before the first sample."""
    if not statistics.weight > 0:
        return None
    return shrunk_moments(statistics.S, statistics.weight)


def shrunk_moments(S: Array, weight: float) -> Array:
    """``Σ yᵀy`` as a mean, as if one sample of equal variances had been seen before."""
    N = len(S)
    M: Array = (S + np.eye(N) * (np.trace(S) / (N * max(weight, TINY)))) / (weight + 1)
    return M


def _whitening(M: Array) -> tuple[Array, Array]:
    """``M^(1/2)`` and ``M^(−1/2)`` of M at trace N: whitened samples keep the unit of the data."""
    if not np.isfinite(M).all():
        raise ValueError(OVERFLOW)
    trace = float(np.trace(M))
    values, V = eigh(M * (len(M) / trace) if trace > 0 else np.eye(len(M)))
    top = float(values[-1])
    roots = np.sqrt(np.maximum(values, 1e-12 * top if top > 0 else 1.0))
    return (V * roots) @ V.T, (V / roots) @ V.T


def row_means(X: Array, mask: Array | None) -> Array:
    """Gaps filled by the mean of what was observed in the sample, as in paper D, V-C."""
    if mask is None:
        return X
    seen = mask > 0
    mean = np.where(seen, X, 0).sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    return np.where(seen, X, mean[:, None])


def filled(X: Array, mask: Array, M: Array | None) -> Array:
    """Gaps filled by the best linear prediction from the observed entries of the sample.

    With o and m for observed and missing, ``y_m = M_mo M_oo⁻¹ y_o``. Rows stand alone.
    """
    if M is None:
        return row_means(X, mask)
    Y = X.copy()
    for i in np.flatnonzero((mask <= 0).any(axis=1)):
        seen = mask[i] > 0
        Y[i, ~seen] = 0
        if seen.any():
            whole = M[np.ix_(seen, seen)]
            Y[i, ~seen] = M[np.ix_(~seen, seen)] @ solve(whole, X[i, seen], assume_a="pos")
    return Y
