"""Codes by Newton steps on blocks of rows, for any smooth separable loss: the dense finish."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.encoding.loop import ActiveRows, RowSolver, State
from thresher.encoding.problem import CodingProblem, Rows
from thresher.kernels.newton_step import model_steps, model_steps_in_region
from thresher.kernels.region import Region
from thresher.linalg import Array

# Heuristic: half and double change the time, not the codes.
_LARGEST_TABLE = 1 << 25  # entries of the table of pairs of atoms: a quarter of a gigabyte
_HALVINGS = 12
_SUFFICIENT = 1e-4  # of the predicted decrease: the usual constant of Armijo's rule
_LEAST_CURVATURE = 0.1


@dataclass(frozen=True)
class BlockNewton(RowSolver):
    """``c ← c + t·d``, d the minimiser of the quadratic model over ``c + d`` in the set.

    The Hessians ``D diag(h) Dᵀ`` of all rows are one matrix product: of the curvatures h with the
    products of pairs of atoms. Where a loss is not convex, h is at least a tenth of ``∇⁺/y``, the
    curvature that it has where data are met, so that the model is; t is halved until the objective
    falls enough. The model is solved exactly, bounds and all, which a projected step would not do.

    Parameters
    ----------
    orthant_only : bool
        Refuse other sets, at whose surface a step may stall.
    """

    orthant_only: bool = False

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """A smooth sum over entries, a set in numbers, and few enough atoms for the workspace."""
        K, F = problem.D.shape
        if rows.sparse:
            return "dense samples"
        if not (problem.loss.smooth and problem.loss.has_entry_curvature):
            return "a smooth loss that is a sum over entries"
        if F * K * (K + 1) // 2 > _LARGEST_TABLE:
            return "fewer atoms or features"
        if self.orthant_only and not problem.regulariser.form.is_orthant:
            return "codes that are nonnegative and not restricted otherwise"
        return problem.regulariser.form.lacks_compiled_form

    def precompute(self, problem: CodingProblem) -> tuple[Array, Any]:
        """``d_i ∘ d_j`` for i ≤ j, shape (F, K(K+1)/2), and where they stand in a matrix."""
        rows, columns = np.triu_indices(len(problem.D))
        pairs = np.ascontiguousarray((problem.D[rows] * problem.D[columns]).T)
        return pairs, (rows, columns)

    def start(self, block: ActiveRows, codes: Array | None) -> State:
        """Given codes, or even ones."""
        codes = block.even_codes() if codes is None else codes
        if not block.problem.regulariser.form.is_orthant:
            codes = block.problem.regulariser.region.project(codes)
        return {"C": codes.copy(), "value": block.objective(codes)}

    def steps(self, block: ActiveRows, state: State, times: int) -> None:
        """Newton steps."""
        for _ in range(times):
            self._step(block, state)

    def codes(self, block: ActiveRows, state: State) -> Array:
        """The current codes."""
        return state["C"]

    def objective(self, block: ActiveRows, state: State) -> Array:
        """Known from the search."""
        return state["value"]

    # ------------------------------------------------------------------- details

    def _curvatures(self, block: ActiveRows, Y: Array) -> Array:
        loss: Any = block.problem.loss  # it has curvatures of entries: required
        x, y = loss.within(block.X, Y, block.weight)
        with np.errstate(all="ignore"):
            h = loss.entry_curvature(x, y)
            if not loss.convex:
                met = loss.entry_split(x, y)[0] / np.maximum(y, np.finfo(y.dtype).tiny)
                h = np.maximum(h, y.dtype.type(_LEAST_CURVATURE) * met)
        h = np.nan_to_num(np.maximum(h, 0), nan=0.0, posinf=0.0)
        return h if block.weight is None else np.where(block.weight > 0, h * block.weight, 0)

    def _rounding(self, block: ActiveRows, Y: Array) -> Array:
        """By how much rounding may move an objective: parts of size ``y∇⁺`` and ``y∇⁻`` cancel.

        Where data are nearly met, that is far more than a rounding of the objective itself.
        """
        loss: Any = block.problem.loss
        x, y = loss.within(block.X, Y, block.weight)
        with np.errstate(all="ignore"):
            parts = np.abs(y) * sum(map(np.abs, loss.entry_split(x, y)))
        parts = (
            parts if block.weight is None else np.where(block.weight > 0, parts * block.weight, 0)
        )
        size: Array = 4 * np.finfo(Y.dtype).eps * np.nan_to_num(parts).sum(axis=1)
        return size

    def _step(self, block: ActiveRows, state: State) -> None:
        problem, C = block.problem, state["C"]
        form = problem.regulariser.form
        number, K = C.dtype.type, len(problem.D)
        Y = C @ problem.D
        gradient = problem.loss.gradient(block.X, Y, block.weight) @ problem.D.T
        gradient += number(form.l1) + number(form.l2) * C
        pairs, (rows, columns) = block.shared
        upper = self._curvatures(block, Y) @ pairs
        H = np.zeros((len(C), K, K), dtype=C.dtype)
        H[:, rows, columns] = upper
        H[:, columns, rows] = upper
        H[:, np.arange(K), np.arange(K)] += number(form.l2)
        d = np.empty_like(C)
        damping, plain = number(4) * np.finfo(C.dtype).eps, form.is_orthant
        if plain:
            model_steps(H, gradient, C, damping, d)
        else:
            model_steps_in_region(H, gradient, C, Region.of(C.dtype, form), damping, d)
        d = np.where(np.isfinite(d), d, 0)
        descent = np.einsum("nk,nk->n", gradient, d)
        t = np.ones((len(C), 1), dtype=C.dtype)
        value, rounding = state["value"], self._rounding(block, Y)
        for _ in range(_HALVINGS):
            moved: Array = C + t * d
            moved = np.maximum(moved, 0) if plain else problem.regulariser.region.project(moved)
            new = block.objective(moved)
            bound = value + number(_SUFFICIENT) * t[:, 0] * np.minimum(descent, 0)
            failed = ~(new <= bound + rounding)
            if not failed.any():
                break
            t[failed] /= 2
        state["C"] = np.where(failed[:, None], C, moved)
        state["value"] = np.where(failed, value, new)
