"""Codes by ADMM through the loss's proximal map, with an exact small solve: the block encoder."""

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.loop import ActiveRows, RowSolver, State, Stop
from thresher.encoding.problem import CodingProblem, Rows
from thresher.kernels import block_admm as kernels
from thresher.kernels.bundles import Atoms, EntryPenalty, Samples, ShiftedInverse
from thresher.kernels.region import Region
from thresher.linalg import Array

ITERATIONS_IF_MISSING = 10
"""So that one can learn from codes of rows with missing entries (docs/guide/choices.md)."""


class Matrices(NamedTuple):
    """What all blocks share.

    Attributes
    ----------
    inverse : array of shape (K, K)
        ``(D Dᵀ + s)⁻¹``.
    shift : array of shape (K,) or (1,)
        s: one number per atom, all the same if a set couples them.
    region : Region or None
        The set and penalty of the codes in numbers, for compiled steps, if they have such a form.
    compiled : tuple or None
        What compiled iterations take, if the loss has such a form too.
    """

    inverse: Array
    shift: Array
    region: Region | None
    compiled: tuple[Any, ...] | None


@dataclass(frozen=True)
class BlockADMM(RowSolver):
    """Splits off the prediction ``y = cD``; two matrix products of the size of the data a step.

    With scaled duals u and w, and over-relaxation α::

        b ← (y − u)Dᵀ
        several times, in K dimensions:
            c ← (b + s(p − w)) (D Dᵀ + s)⁻¹
            h ← α c + (1 − α)p + w       p ← prox_{φ/(ρs)}(h)     w ← h − p
        v ← α cD + (1 − α)y + u          y ← prox_{loss/ρ}(v)     u ← v − y

    The matrix depends neither on the loss nor on ρ, so it is inverted once per dictionary. Any loss
    and any penalty enter through proximal maps. A missing entry has the identity as its map, and an
    entry weight multiplies 1/ρ there: masks and weights cost nothing. The inner steps are nearly
    free when K ≪ F, and more than halve the outer ones. The codes are p, which is feasible.

    Nothing depends on the scale of data, weights or atoms: s is relative to the squared length of
    the atoms, and ρ to the mean curvature of the loss in a row, ``mean |∇loss| / mean |x − y|``
    at its start, at most ``rho`` times the mean weight of its entries. Where nearly all entries are
    outliers that is small; otherwise the dual, which an outlier bounds by λ, could move y by no
    more than λ/ρ at a time.
    """

    rho: float = 0.5
    unbounded_rho: float = 1.0
    relative_shift: float = 0.5
    relaxation: float = 1.6
    inner: int = 4
    start_steps: int = 8

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """A proximal map of the loss, which convex ones have."""
        if rows.sparse:
            return "dense samples"
        return None if problem.loss.convex else "a convex loss"

    def precompute(self, problem: CodingProblem) -> Matrices:
        """Invert the matrix of the c-step."""
        form, constants = problem.regulariser.form, problem.loss.entry_constants
        dtype, gram = problem.D.dtype, problem.gram.astype(np.float64)
        region = Region.of(dtype, form) if form.lacks_compiled_form is None else None
        lengths = gram.diagonal().copy()
        least = np.finfo(dtype).tiny  # whose inverse is finite
        if lengths.min() <= least:
            lengths[lengths <= least] = lengths.max() if lengths.max() > least else 1.0
        shift = self.relative_shift * lengths
        if region is None:
            shift = np.array([shift.mean()])
        elif not form.is_box:
            shift[:] = shift.mean()
        gram.flat[:: len(gram) + 1] += shift
        inverse = np.linalg.inv(gram).astype(dtype, copy=False)
        shift = shift.astype(dtype, copy=False)
        if region is None or constants is None:
            return Matrices(inverse, shift, region, None)
        compiled = (
            Atoms.of(problem.D, problem.transposed),
            ShiftedInverse.of(inverse, shift),
            region,
            EntryPenalty.of(dtype, constants),
            kernels.Settings(
                dtype.type(self.relaxation),
                dtype.type(self.rho),
                self.start_steps,
                self.inner,
                problem.n_features or problem.D.shape[1],
            ),
        )
        return Matrices(inverse, shift, region, compiled)

    def start(self, block: ActiveRows, codes: Array | None) -> State:
        """Regularised least squares codes, by inner steps alone; the dual that fits them."""
        problem, X, weight = block.problem, block.X, block.weight
        n, K = X.shape[0], problem.D.shape[0]
        state: State = {"H": np.zeros((n, K), dtype=X.dtype) if codes is None else codes.copy()}
        if block.shared.compiled is not None:  # the first iteration begins with it
            stage = kernels.NOTHING if codes is None else kernels.CODES
            state["stage"] = np.full(n, stage, dtype=np.int8)
            state["C"], state["P"] = np.empty_like(state["H"]), np.empty_like(state["H"])
            state["V"], state["Q"] = np.empty_like(X), np.empty_like(X)
            state["rho"] = np.empty((n, 1), dtype=X.dtype)
            return state
        state["rho"] = np.ones((n, 1), dtype=X.dtype)
        if codes is None:
            width = problem.n_features or problem.D.shape[1]
            observed = X if weight is None else X * _observed(weight, width)
            self._inner(block, observed @ problem.D.T, state, self.start_steps)
        self._begin(block, state, self.codes(block, state) @ problem.D)
        return state

    def steps(self, block: ActiveRows, state: State, times: int) -> None:
        """Iterations; the lines of the class docstring. Q holds y − u.

        Separable envelopes and sets in numbers have one compiled loop.
        """
        if block.shared.compiled is None:
            for _ in range(times):
                C = self._inner(block, state["Q"] @ block.problem.D.T, state, self.inner)
                self._split(block, state, C @ block.problem.D)
            return
        splitting = kernels.Splitting(state["V"], state["Q"], state["rho"])
        rounds = kernels.Rounds(state["H"], state["C"], state["P"], splitting, state["stage"])
        kernels.rounds(Samples.of(block.X, block.weight), *block.shared.compiled, rounds, times)

    def codes(self, block: ActiveRows, state: State) -> Array:
        """The feasible copy p."""
        if "P" in state:
            return state["P"]
        return block.problem.regulariser.prox(state["H"], 1 / (state["rho"] * block.shared.shift))

    # ------------------------------------------------------------------- details

    def _inner(self, block: ActiveRows, B: Array, state: State, times: int) -> Array:
        """Inner steps on H, in place; returns the last c."""
        inverse, shift, region, _ = block.shared
        H, rho, a = state["H"], state["rho"], self.relaxation
        C = np.empty_like(B)
        if region is not None:
            kernels.codes_in_region(
                B,
                H,
                C,
                np.empty_like(B),
                ShiftedInverse.of(inverse, shift),
                region,
                rho,
                H.dtype.type(a),
                times,
            )
            return C
        step = 1 / (rho * shift)
        for _ in range(times):
            P = block.problem.regulariser.prox(H, step)
            C = (B + shift * (P + P - H)) @ inverse
            H = H + a * (C - P)
        state["H"] = H
        return C

    def _begin(self, block: ActiveRows, state: State, Y: Array) -> None:
        """ρ of every row, and the first v and y − u, from predictions."""
        problem, X, weight = block.problem, block.X, block.weight
        loss, constants = problem.loss, problem.loss.entry_constants
        if constants is not None:
            V: Array = np.empty_like(Y)
            Q = Y
            rho: Array = np.empty((len(X), 1), dtype=X.dtype)
            outliers = EntryPenalty.of(X.dtype, constants)
            splitting, largest = kernels.Splitting(V, Q, rho), X.dtype.type(self.rho)
            kernels.begin(Samples.of(X, weight), largest, outliers, splitting)
        else:
            Y = _away_from_zero(block, Y)
            gradient = loss.gradient(X, Y, weight)
            E = np.abs(X - Y) if weight is None else np.abs(X - Y) * (weight > 0)
            slope, size = np.abs(gradient).sum(axis=1), E.sum(axis=1)
            if np.isfinite(loss.curvature):
                bound = self.rho * loss.curvature * mean_weight(block)
                ratio = np.where(slope > 0, slope / np.where(size > 0, size, 1), bound)
                rho = np.minimum(ratio, bound)[:, None].astype(X.dtype)
            else:
                ratio = np.where(size > 0, slope / np.where(size > 0, size, 1), 0)
                rho = np.where(ratio > 0, self.unbounded_rho * ratio, 1)[:, None].astype(X.dtype)
            V, Q = Y + gradient / rho, Y - gradient / rho
        state["rho"], state["V"], state["Q"] = rho, V, Q

    def _split(self, block: ActiveRows, state: State, prediction: Array) -> None:
        """The new v and y − u from cD."""
        a = self.relaxation
        Y, U = (state["Q"] + state["V"]) / 2, (state["V"] - state["Q"]) / 2
        V: Array = a * prediction + (1 - a) * Y + U
        nearest = block.problem.loss.prox(V, block.X, 1 / state["rho"], block.weight)
        state["V"], state["Q"] = V, 2 * nearest - V


@dataclass(frozen=True)
class InexactStop(Stop):
    """Stop a row when its code is good enough to learn from: mostly after one iteration.

    ρ estimates which share of a row's residual is noise under the loss. Where that share is small,
    the least squares start is biased by the outliers, and one iteration does not correct it. In a
    row with missing entries the start takes them for zeros, which takes longest to correct.
    """

    least_rho: float = 0.2
    rounds: int = 4

    def requires(self, problem: CodingProblem) -> str | None:
        """A loss whose noise ρ measures."""
        if problem.loss.envelope is None and problem.loss.metric is None:
            return "squares, or squares with outliers set aside"
        return None

    def next_check(self, iteration: int) -> int:
        """After the first iteration, and once more."""
        if iteration < 1:
            return 1
        return self.rounds if iteration < self.rounds else sys.maxsize

    def done(self, solver: RowSolver, block: ActiveRows, state: State) -> NDArray[np.bool_]:
        """At first whole rows that were mostly noise from the start, then all whole rows."""
        checked, rho = "checked" in state, state["rho"][:, 0]
        state["checked"] = rho  # anything with one entry for each row
        if block.weight is None:  # then all weigh one
            return np.ones(len(rho), dtype=bool) if checked else np.asarray(rho >= self.least_rho)
        whole = np.all(block.weight > 0, axis=1)
        noise = checked or rho >= self.least_rho * mean_weight(block)
        return np.asarray(whole & noise)


@dataclass(frozen=True)
class ResidualTolerance(Stop):
    """Stop a row when the primal and dual residuals of ADMM are small, relative to the sample.

    That is, when its two copies of the prediction agree and no longer move. The optimality of codes
    at nonsmooth points has no closed form, and an objective that hardly changes is no sign of
    convergence: ADMM is slow where many entries are close to a nonsmooth point.
    """

    tol: float = 1e-4

    def next_check(self, iteration: int) -> int:
        """A fifth as far again."""
        return iteration + max(4, iteration // 5)

    def done(self, solver: RowSolver, block: ActiveRows, state: State) -> NDArray[np.bool_]:
        """Compare the split prediction with that of the codes, and with that of the last check."""
        Y = (state["Q"] + state["V"]) / 2
        before, state["before"] = state.get("before"), Y
        if before is None:
            return np.zeros(len(Y), dtype=bool)

        def length(V: Array) -> Array:
            seen = V if block.weight is None else np.where(block.weight > 0, V, 0)
            return np.asarray(np.linalg.norm(seen, axis=1))

        apart = length(Y - solver.codes(block, state) @ block.problem.D)
        moved, size = length(Y - before), length(block.X)
        return np.asarray((apart <= self.tol * size) & (moved <= self.tol * size))


def mean_weight(block: ActiveRows) -> Array:
    """Mean weight of the observed entries of every row."""
    if block.weight is None:
        return np.ones(len(block.X), dtype=block.X.dtype)
    seen = np.count_nonzero(block.weight, axis=1)
    mean: Array = np.where(seen > 0, block.weight.sum(axis=1) / np.maximum(seen, 1), 1)
    return mean.astype(block.X.dtype)


def _away_from_zero(block: ActiveRows, Y: Array) -> Array:
    """For divergences that need ``y > 0``: predictions of at least a tenth of the row's mean.

    Next to zero their gradient does not depend on the scale of a row.
    """
    loss, X, weight = block.problem.loss, block.X, block.weight
    if not loss.needs_positive_prediction:
        return Y
    if weight is None:
        mean: Array = X.mean(axis=1, keepdims=True)
    else:
        seen = weight > 0
        count = np.maximum(seen.sum(axis=1, keepdims=True), 1).astype(X.dtype)
        mean = np.where(seen, X, 0).sum(axis=1, keepdims=True) / count
    least: Array = X.dtype.type(0.1) * mean
    raised = np.maximum(Y, least)
    return raised if weight is None else np.where(weight > 0, raised, Y)


def _observed(weight: Array, width: int) -> Array:
    """One at observed entries, scaled to a mean of one: incomplete rows start at full size."""
    seen = (weight > 0).astype(weight.dtype)
    share = seen.sum(axis=1, keepdims=True) / seen.dtype.type(width)
    scaled: Array = seen / np.where(share > 0, share, 1)
    return scaled
