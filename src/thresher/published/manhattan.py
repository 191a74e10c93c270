"""Paper C, Manhattan NMF: RRI and OGM, and RRI for symmetric factorisation."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.engine import Pool
from thresher.kernels.bundles import SparseRows
from thresher.kernels.symmetric import symmetric_columns
from thresher.learning import BlockDescent, QuadraticLearner
from thresher.linalg import Array
from thresher.manhattan import (
    FactorSpecification,
    Half,
    HalfSolver,
    RankOneSweeps,
    TwoFactors,
)
from thresher.manhattan.smoothing import (
    NesterovIterates,
    SmoothedLoss,
    SmoothedRows,
    has_gap,
    spreads,
    summed,
)
from thresher.published.base import AT_LEAST_0, COUNT, FLAG, POSITIVE, Published, constant
from thresher.published.method import PublishedMethod, PublishedSolver
from thresher.sets import NonnegativeOrthant


@dataclass(frozen=True)
class RepeatedSweeps:
    """Sweeps over one factor until the objective converges: Algorithm 1 with its stop (8).

    A sweep goes atom by atom, over all rows of each (line 8), which the order of rows affects only
    if a graph couples them (section 4.2).

    Parameters
    ----------
    epsilon : float
        Change of the objective of the whole matrix in a sweep at which sweeps end; in units of
        the mean ``|x|``, unless ``as_printed`` (errata C.4).
    as_printed : bool
    max_sweeps : int
        Maximum number of sweeps; the paper has no limit.
    """

    epsilon: float = 0.1
    as_printed: bool = False
    max_sweeps: int = 1000

    def requires(self, half: Half) -> str | None:
        """Require what sweeps require."""
        return RankOneSweeps().requires(half)

    def improve(self, half: Half, A: Array, V: Array, pool: Pool) -> tuple[Array, Array]:
        """Sweep until (8)."""
        tolerance = self.epsilon * (1.0 if self.as_printed else half.mean_entry)
        losses = half.evaluate(A, V, pool)
        now = half.total(losses) + half.penalty(V)
        for _ in range(self.max_sweeps):
            last = now
            V, losses = self._sweep(half, A, V, pool)
            now = half.total(losses) + half.penalty(V)
            if abs(last - now) <= tolerance:
                break
        return V, losses

    def _sweep(self, half: Half, A: Array, V: Array, pool: Pool) -> tuple[Array, Array]:
        if half.graph is None:
            return RankOneSweeps().improve(half, A, V, pool)
        losses = half.evaluate(A, V, pool)
        for k in half.atoms(len(A)):
            only = replace(half, free=np.arange(len(A)) == k)
            V, losses = RankOneSweeps().improve(only, A, V, pool)
        return V, losses


@dataclass
class OptimalGradient:
    """One call of Algorithm 2 for each half, with the ``λ_t = λ₀/(t + 1)`` of Algorithm 3.

    From V₀ the sequences (19)–(21) are::

        Y_k = prox(V_k − ∇_k/L),   Z_k = prox(centre·V₀ − Σ_{i≤k} (i+1)/2 ∇_i/L),
        V_{k+1} = 2/(k+3) Z_k + (k+1)/(k+3) Y_k,     L = Σ q/λ,

    with ``prox`` that of set and penalty, (30), (47), (56), and what squares (58) and a graph (33)
    add to L. It ends, with ``V_{k+1}``, when the objective of the whole matrix changes by at most
    ``ε_t`` from one k to the next (8), where ``ε_t`` is the smaller of ε and the bound of Theorem
    2. Groups of rows (40) are separate problems, with separate stops.

    Units (errata C.4): λ in ``mean|X|/mean(q)``, ε in the mean ``|x|`` of the rows
    that stop together.

    Codes in a box stop when the duality gap (25) is at most ε. Then ``λ = ε/Σq``, which minimises
    the bound (25), and the result is ``Y_k``, to which (25) refers.

    As printed, λ₀ and ε have the unit of the data, (35) takes all gradients at V_k, and in a box
    ``λ = 2ε/Σq``.

    Parameters
    ----------
    lambda_0, epsilon : float
    centre : float
        1 to start from V₀ (errata C.3), 0 as printed.
    monotone : bool
        Take the best of ``Y_{k−1}``, ``V_k`` and ``Y_k`` for Y_k.
    by_row : bool
        Stop each row separately, by its smoothed loss (22).
    as_printed : bool
    max_iter : int
        Maximum k; the paper has no limit.
    """

    lambda_0: float = 0.1
    epsilon: float = 0.1
    centre: float = 1.0
    monotone: bool = False
    by_row: bool = False
    as_printed: bool = False
    max_iter: int = 1000
    _round: int = field(default=0, init=False)

    def improve(self, half: Half, A: Array, V: Array, pool: Pool) -> tuple[Array, Array]:
        """Minimise the smoothed loss of the iteration."""
        A, V = np.ascontiguousarray(A), np.ascontiguousarray(V)
        self._round += 1
        spread = spreads(half, A, pool)
        if half.total(spread) > 0:
            V = self._moved(half, A, V, self._stop(half, spread), pool)
        return V, half.evaluate(A, V, pool)

    def _moved(self, half: Half, A: Array, V: Array, stop: "_Stop", pool: Pool) -> Array:
        def minimised(blocks: list[slice], pool: Pool | None = None) -> Array:
            part = SmoothedRows(half, A, stop.width, blocks, _published_bound, stop.problems, pool)
            return self._minimise(part, V[part.rows_range], stop.epsilon[part.rows_range])

        with np.errstate(over="ignore", invalid="ignore"):  # (35) as printed may diverge
            if stop.problems is None:  # rows stop separately: one block after the other
                moved = np.concatenate(pool.map(lambda rows: minimised([rows]), half.blocks()))
            else:
                moved = minimised(half.blocks(), pool)
        if not np.isfinite(moved).all():
            raise ValueError(
                "The iterates of ogm diverged, which is possible with as_printed=True; leave it "
                "out, or divide the data by a number."
            )
        return moved

    def _stop(self, half: Half, spread: Array) -> "_Stop":
        """Return the widths and tolerances of the iteration."""
        sizes, counts = half.row_sums
        problems = half.problem_numbers
        alone = half.rows_are_independent and (self.by_row or has_gap(half))
        if half.rows_are_independent and not alone:
            problems = np.zeros_like(problems)
        unit = np.ones(len(sizes))
        if not self.as_printed:
            size, count = sizes, counts
            if not alone:
                weight = np.ones(len(sizes)) if half.row_weight is None else half.row_weight
                size, count = (summed(problems, weight * each)[problems] for each in half.row_sums)
            unit = np.where(size > 0, size / np.where(count > 0, count, 1), 1.0)
        if has_gap(half):
            share = 2.0 if self.as_printed else 1.0
            epsilon = self.epsilon * unit
            width = share * epsilon / np.where(spread > 0, spread, 1.0)
            return _Stop(width[:, None], epsilon, None)
        width_t = self.lambda_0 / self._round
        error = half.total(spread) / 2
        if self.by_row:
            error /= half.total(np.ones(len(sizes)))
        if not self.as_printed:
            width_t *= half.mean_entry * half.total(counts) / half.total(spread)
            error /= half.mean_entry
        epsilon = min(self.epsilon, error * width_t) * unit
        return _Stop(np.full((len(sizes), 1), width_t), epsilon, None if alone else problems)

    def _minimise(self, part: SmoothedRows, start: Array, epsilon: Array) -> Array:
        """Algorithm 2, with the numbers of its lines."""
        iterates = NesterovIterates(part, start, self.centre)
        running = np.broadcast_to(part.lipschitz[:, 0] > 0, len(start))
        last: Array | None = None
        for k in range(self.max_iter + 1):
            slope, smooth, true = part.evaluate(iterates.V, k)  # 3, 4
            values = smooth if self.by_row else true
            if last is not None and not part.has_gap:
                running = running & (np.abs(last - values) > epsilon)  # 8
            if k == self.max_iter or not running.any():
                break
            last = values
            iterates.add(slope, k)
            if self.as_printed and part.half.graph is not None:
                iterates.past = start.dtype.type((k + 1) * (k + 2) / 4) * slope  # (35)
            Y = iterates.descent(slope)  # 5
            if self.monotone:
                Y = _best(part, iterates, Y, smooth, k)
            iterates.advance(Y, k, running[:, None])  # 6, 7
            if part.has_gap:
                running = running & (part.gap(iterates.Y) > epsilon)  # (25)
        return iterates.Y if part.has_gap else iterates.V


class _Stop(NamedTuple):
    """λ (n, 1), ε (n), and the numbers of the problems of the rows (None: each row is one)."""

    width: Array
    epsilon: Array
    problems: NDArray[np.int64] | None


def _best(part: SmoothedRows, iterates: NesterovIterates, Y: Array, smooth: Array, k: int) -> Array:
    """The best of ``Y_{k−1}``, ``V_k`` and ``Y_k`` by smoothed value; of several, the first."""
    tried = [(iterates.V, smooth), (Y, part.values(Y))]
    if k > 0:
        tried.insert(0, (iterates.Y, part.values(iterates.Y)))
    best, least = tried[0]
    for point, value in tried[1:]:
        best = np.where((value < least)[:, None], point, best)
        least = np.minimum(value, least)
    return best


def _published_bound(loss: SmoothedLoss) -> Array:
    """``Σ w q/λ + square·‖A diag(w) Aᵀ‖₂``, shape (n, 1); zero if A is."""
    L = loss.spread[:, None] / loss.width
    if loss.square:
        L = L + loss.square * loss.norm(loss.largest_weights)
    bound: Array = L.astype(loss.A.dtype)
    return bound


@dataclass
class PublishedFactors(TwoFactors):
    """Alternate until (4): an iteration changes the objective by at most ξ."""

    xi: float = 0.1
    as_printed: bool = False

    @property
    def absolute_tol(self) -> float:
        """ξ per sample; in units of the mean ``|x|``, unless ``as_printed`` (errata C.4)."""
        unit = 1.0 if self.as_printed else self.codes.mean_entry
        return self.xi * unit / float(self.problem.sample_weight.sum())


class _FactorSolver(PublishedSolver[FactorSpecification]):
    """A solver of paper C: the solver of a half, and the stop (4)."""

    xi: float
    as_printed: bool
    rescales: ClassVar[bool]
    """Whether the solver is invariant to the scale of the factors, so that atoms are rescaled."""

    @abstractmethod
    def half_solver(self, half: Half) -> HalfSolver:
        """Return the solver of a half."""

    def method(self, given: FactorSpecification) -> PublishedMethod:
        """Build the method; (1) and (33) have no bound on the atoms."""
        unpenalised = given.code_regulariser.form.is_unpenalised
        options = {"xi": self.xi, "as_printed": self.as_printed, "rescales": self.rescales}
        method = self.build(
            given,
            given.encoder,
            QuadraticLearner(BlockDescent()),  # keeps no statistics: all is in memory
            NonnegativeOrthant() if unpenalised else None,
            given.rounds(self.half_solver, PublishedFactors, **options),
            keep_sparse=given.keeps_sparse,
        )
        given.check_scale(method.dictionary_regulariser, with_graph=False)
        return method


@dataclass(frozen=True)
class RRI(_FactorSolver):
    """Rank-one residual iteration (paper C, Algorithm 1), for codes and dictionary in turns.

    Parameters
    ----------
    epsilon : float
        ε of (8): the change of the objective of the whole matrix in a sweep over one factor at
        which sweeps end, in units of the mean ``|x|`` (errata C.4).
    xi : float
        ξ of (4): the same for an iteration over both factors.
    as_printed : bool
        ε and ξ in the unit of the data.
    max_sweeps : int
        Maximum number of sweeps over one factor; the paper has no limit.
    """

    name = "rri"
    description = "sweeps over the entries of each factor (paper C, RRI)"
    rescales = True
    epsilon: float = constant(0.1, AT_LEAST_0)
    xi: float = constant(0.1, AT_LEAST_0)
    as_printed: bool = constant(False, FLAG)
    max_sweeps: int = constant(1000, COUNT)

    def half_solver(self, half: Half) -> HalfSolver:
        """Return sweeps, for boxes and elastic nets."""
        sweeps = RepeatedSweeps(self.epsilon, self.as_printed, self.max_sweeps)
        reason = sweeps.requires(half)
        if reason is not None:
            raise ValueError(reason)
        return sweeps


@dataclass(frozen=True)
class OGM(_FactorSolver):
    """Nesterov's smoothing method (paper C, Algorithms 2 and 3).

    Parameters
    ----------
    lambda_0 : float
        ``λ_t = λ₀/(t + 1)`` is the width of smoothing in iteration t; in units of
        ``mean|X|/mean(q)``, q the lengths of the columns of the other factor (errata C.4). In a
        box λ follows from ε.
    epsilon : float
        ε of (8) for Algorithm 2, in units of the mean ``|x|``; of (25) in a box.
    xi : float
        ξ of (4), likewise.
    centre : float, optional
        Factor of the start in (20): 1 keeps it (errata C.3), 0 is as printed. None is 1, and 0
        ``as_printed``.
    monotone : bool
        The variant with the best of three points in line 5.
    by_row : bool
        Stop each row separately, by its smoothed loss (22), instead of (8).
    as_printed : bool
        λ₀, ε and ξ in the unit of the data, and the centre 0.
    max_iter : int
        Maximum number of iterations of Algorithm 2; the paper has no limit.
    """

    name = "ogm"
    description = "Nesterov's smoothing method (paper C, OGM)"
    rescales = False
    lambda_0: float = constant(0.1, POSITIVE)
    epsilon: float = constant(0.1, POSITIVE)
    xi: float = constant(0.1, AT_LEAST_0)
    centre: float | None = constant(None, AT_LEAST_0)
    monotone: bool = constant(False, FLAG)
    by_row: bool = constant(False, FLAG)
    as_printed: bool = constant(False, FLAG)
    max_iter: int = constant(1000, COUNT)

    def half_solver(self, half: Half) -> HalfSolver:
        """Return a solver for each half, which counts the iterations."""
        centre = 0.0 if self.as_printed else 1.0
        return OptimalGradient(
            self.lambda_0,
            self.epsilon,
            centre if self.centre is None else self.centre,
            self.monotone,
            self.by_row,
            self.as_printed,
            self.max_iter,
        )


def manhattan_columns(X: Any, H: Array, as_printed: bool = False) -> None:
    """Minimise ‖X − H Hᵀ‖₁ in every entry of H, column by column (60)–(61), in place."""
    symmetric_columns(SparseRows.of(X), H, not as_printed)


@dataclass(frozen=True)
class SymmetricRRI(Published):
    """Rank-one residual iteration for ``X ≈ H Hᵀ`` (paper C, (60)–(61)), column by column.

    Parameters
    ----------
    epsilon : float
        ε of (8): the change of the objective in a sweep at which sweeps end, in units of the mean
        similarity (errata C.4).
    as_printed : bool
        (61) as it stands: entries off the diagonal count once, and the diagonal is convex (errata
        C.6). ε in the unit of the data. The objective may rise.
    """

    name = "symmetric_rri"
    epsilon: float = constant(0.1, AT_LEAST_0)
    as_printed: bool = constant(False, FLAG)

    def sweep(self, X: Any, H: Array) -> None:
        """Sweep once over H, in place."""
        manhattan_columns(X, H, self.as_printed)

    def absolute_tol(self, X: Any) -> float | None:
        """The change of the objective at which (8) stops; X is CSR, with NaN where missing."""
        if self.as_printed:
            return self.epsilon
        missing = np.isnan(X.data)
        known = X.shape[0] ** 2 - int(missing.sum())
        tol: float = self.epsilon * float(X.data[~missing].sum()) / max(known, 1)
        return tol
