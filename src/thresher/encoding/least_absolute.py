"""Exact codes under the ℓ1 distance, dense and sparse: a simplex method, row by row."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from thresher.encoding.loop import Encoder, Encoding, Status
from thresher.encoding.problem import CodingProblem, Rows
from thresher.kernels.bundles import Atoms, Limits, Outcome, Samples, ShiftedInverse, SparseRows
from thresher.kernels.floors import TINY
from thresher.kernels.lad_codes import WordAtoms, lad_rows, lad_sparse_rows
from thresher.kernels.lad_start import lad_start, smoothed_rows
from thresher.linalg import Array, as_dense
from thresher.losses import L1Distance, NonsmoothPoints
from thresher.penalties import ElasticNet, Form, Regulariser

_TOL = 1e-9
"""Steps go on until this gap even if a larger one is allowed: the last steps are few."""

# Where there are this many features for each atom, the optimum on a sample of them is nearly that
# of all, and of all only those near zero need be watched. Heuristic, for speed: the optimum is
# the same.
_WIDE = 64
_SAMPLED_PER_ATOM = 32
_WATCHED_PER_ATOM = 100
_FIRST_SHARE = 4  # at first the loss is smoothed at a quarter of the features,
_LAST_PER_ATOM = 20  # in the end those of so many features for each atom

_START_ROWS = 64  # coded at a time; heuristic
_NEGLIGIBLE = 1e-14  # of an atom's largest entry; heuristic
_START_SHIFT = 0.1  # ρ of the start's ADMM, for atoms of length one; heuristic
_NOTHING = {name: np.empty((0, 0), dtype=name) for name in ("float32", "float64")}


@dataclass(frozen=True)
class LeastAbsolute(Encoder):
    """The optimal vertex of every row; see `thresher.kernels.lad_simplex`.

    Dense rows start from ``rounds`` iterations of ADMM in float32, which find most of the basis;
    very wide ones (F ≥ 64 K) from a sample of their features. Sparse rows are problems on their own
    nonzeros and start from zero; they need a nonnegative dictionary. Constraints other than
    nonnegative codes become additional features (`Widened`).

    The arithmetic is float64. The certificate is the duality gap relative to ``Σ w|x|``, before
    codes are rounded to the type of the samples.
    """

    tol: float = 1e-4
    max_iter: int = 20_000
    rounds: int = 30

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """The ℓ1 distance, and codes in a polyhedron under an ℓ1 penalty at most."""
        points = problem.loss.nonsmooth_points
        if points is None or points.square:
            return "the ℓ1 distance"
        return lacks_polyhedron(problem.regulariser.form)

    def precompute(self, problem: CodingProblem, rows: Rows) -> Any:
        """Copies of the dictionary: sparse blocks and dense ones need different ones."""
        if not problem.regulariser.form.is_orthant:
            return None  # every block is a problem of its own
        if rows.sparse:
            return partial(self._encode_sparse, problem, _Words.of(problem))
        atoms = _Atoms.of(problem)
        unit = None if atoms.wide or self.rounds == 0 else _UnitAtoms.of(problem)
        return partial(self._encode_dense, problem, atoms, unit)

    def run(
        self, problem: CodingProblem, shared: Any, X: Any, weight: Array | None, start: Array | None
    ) -> Encoding:
        """Find the optimal codes of a block."""
        if shared is None:
            return self._encode_widened(problem, X, weight, start)
        n, K = X.shape[0], len(problem.D)
        C = np.zeros((n, K)) if start is None else np.array(start, dtype=np.float64, order="C")
        certificate, n_iter = np.empty(n), np.empty(n, dtype=np.int64)
        shared(X, weight, start is not None, C, Outcome(certificate, n_iter))
        status = np.where(certificate <= self.tol, Status.CONVERGED, Status.MAX_ITER)
        status[np.isnan(certificate)] = Status.NOT_FINITE
        dtype = problem.D.dtype
        return Encoding(
            C.astype(dtype),
            status.astype(np.int8),
            n_iter.astype(np.int32),
            certificate.astype(dtype),
        )

    def certificate(
        self, problem: CodingProblem, X: Any, C: Array, weight: Array | None = None
    ) -> Array:
        """The duality gap: how far codes are above the dual bound, relative to ``Σ w|x|``.

        The bound comes from the exact codes, so that it is tight: this is how much the objective
        could still fall.
        """
        exact = replace(problem, D=problem.D.astype(np.float64))
        best = LeastAbsolute(_TOL).encode(exact, X, weight)
        data = X.astype(np.float64)
        weights = None if weight is None else weight.astype(np.float64)
        above = exact.objective(data, C.astype(np.float64), weights)
        above = above - exact.objective(data, best.codes, weights)
        size = exact.objective(data, np.zeros(C.shape), weights)
        with np.errstate(over="ignore"):  # codes of a row of zeros are infinitely far off
            gap = np.maximum(above, 0) / np.maximum(size, np.finfo(np.float64).tiny)
            result: Array = (gap + np.maximum(best.certificate, 0)).astype(C.dtype)
        return result

    # ------------------------------------------------------------------- details

    def _encode_widened(
        self, problem: CodingProblem, X: Any, weight: Array | None, start: Array | None
    ) -> Encoding:
        """Codes over any polyhedron, as nonnegative ones of a wider problem."""
        wider = Widened.of(problem, *_weighted_samples(problem, as_dense(X)[0], weight))
        found = self.encode(wider.problem, wider.X, wider.weight, wider.start(start))
        dtype = problem.D.dtype
        codes = wider.codes(found.codes).astype(dtype)
        return Encoding(codes, found.status, found.n_iter, found.certificate.astype(dtype))

    def _encode_dense(
        self,
        problem: CodingProblem,
        atoms: "_Atoms",
        unit: "_UnitAtoms | None",
        X: Array,
        weight: Array | None,
        warm: bool,
        C: Array,
        outcome: Outcome,
    ) -> None:
        x, w = _weighted_samples(problem, X, weight)
        l1, (K, F) = float(problem.regulariser.form.l1), atoms.D.shape
        theta = _NOTHING["float32"]
        sample_steps: Any = 0
        if atoms.wide:
            if not warm:
                sample_steps = self._sample_start(atoms, x, w, l1, C)
            first, last = F // _FIRST_SHARE, _LAST_PER_ATOM * K
            smoothed_rows(Samples(x, w), atoms.D, l1, first, last, C)
        elif unit is not None:
            C[:], theta = self._start(unit, l1, x, w, C if warm else None)
        lad_rows(
            Samples(x, w),
            Atoms(atoms.D, atoms.Dt),
            l1,
            C,
            theta,
            _WATCHED_PER_ATOM * K if atoms.wide else F,
            Limits(min(self.tol, _TOL), self.max_iter),
            outcome,
        )
        outcome.n_iter[:] += sample_steps

    def _sample_start(self, atoms: "_Atoms", X: Array, weight: Array, l1: float, C: Array) -> Any:
        """The optimum over a sample of the features; how many steps that took."""
        certificate, n_iter = np.empty(len(X)), np.empty(len(X), dtype=np.int64)
        sample = atoms.sample
        weights = np.take(weight, sample, axis=1) if len(weight) else weight
        lad_rows(
            Samples(np.take(X, sample, axis=1), weights),
            Atoms(atoms.sample_atoms, atoms.sample_transposed),
            l1 * len(sample) / X.shape[1],
            C,
            _NOTHING["float32"],
            len(sample),
            Limits(min(self.tol, _TOL), self.max_iter),
            Outcome(certificate, n_iter),
        )
        return n_iter

    def _encode_sparse(
        self,
        problem: CodingProblem,
        words: "_Words",
        X: Any,
        weight: None,
        warm: bool,
        C: Array,
        outcome: Outcome,
    ) -> None:
        if words.signed:
            raise ValueError(
                "Sparse samples under the ℓ1 distance need a nonnegative dictionary, since zeros "
                "are then linear in the codes; pass dense samples."
            )
        lad_sparse_rows(
            SparseRows(X.indptr, X.indices, np.require(X.data, np.float64, ["C", "W"])),
            WordAtoms(words.Dt, words.sums, words.lengths),
            float(problem.regulariser.form.l1),
            float(_points(problem).zero_weight),
            C,
            Limits(min(self.tol, _TOL), self.max_iter),
            outcome,
        )

    def _start(
        self, unit: "_UnitAtoms", l1: float, X: Array, weight: Array, codes: Array | None
    ) -> tuple[Array, Array]:
        """Approximate codes and duals, whatever the scale of the data or of the atoms."""
        scale = np.abs(X).max(axis=1, keepdims=True, initial=0)
        scale[~((scale > 0) & (scale < np.inf))] = 1
        rows = (X / scale).astype(np.float32)
        heaviest = float(weight.max()) if weight.any() else 1.0
        weights = (weight / heaviest).astype(np.float32)
        # The penalty of scaled codes differs between atoms; for a start the mean will do.
        scaled_l1 = np.float32(l1 / heaviest * np.mean(1 / unit.lengths))
        shape = (len(X), len(unit.D))
        C = np.zeros(shape, dtype=np.float32)
        if codes is not None:
            C[:] = np.minimum(codes * unit.lengths / scale, X.shape[1])  # none needs to be larger
        theta = np.empty(X.shape, dtype=np.float32)
        for first in range(0, len(X), _START_ROWS):
            some = slice(first, first + _START_ROWS)
            lad_start(
                Samples(rows[some], weights[some] if len(weights) else weights),
                Atoms(unit.D, unit.Dt),
                ShiftedInverse(unit.inverse, unit.shift),
                scaled_l1,
                self.rounds,
                codes is not None,
                C[some],
                theta[some],
            )
        return C * scale / unit.lengths, theta * np.float32(heaviest)


@dataclass(frozen=True)
class _Atoms:
    """D and Dᵀ in float64, and the same on a sample of the features, if they are very many."""

    D: Array
    Dt: Array
    wide: bool
    sample: Any
    sample_atoms: Array
    sample_transposed: Array

    @classmethod
    def of(cls, problem: CodingProblem) -> "_Atoms":
        K, F = problem.D.shape
        D = problem.D.astype(np.float64, order="C")
        # Rounding errors next to the largest entry would make a basis singular.
        D[np.abs(D) < _NEGLIGIBLE * np.abs(D).max(axis=1, keepdims=True, initial=0)] = 0
        size = _SAMPLED_PER_ATOM * K if F >= _WIDE * K else 0
        sample = np.arange(0)
        if size:
            sample = np.random.default_rng(0).permutation(F)[:size]
        some = np.ascontiguousarray(D[:, sample])
        return cls(D, D.T.copy(), size > 0, sample, some, some.T.copy())


@dataclass(frozen=True)
class _UnitAtoms:
    """Atoms of length one in float32, and what ADMM needs of them."""

    D: Array
    Dt: Array
    lengths: Array
    inverse: Array
    shift: Array

    @classmethod
    def of(cls, problem: CodingProblem) -> "_UnitAtoms":
        exact = problem.D.astype(np.float64)
        lengths = np.sqrt(np.einsum("kf,kf->k", exact, exact))
        lengths[lengths <= 0] = 1
        exact /= lengths[:, None]
        D = exact.astype(np.float32)
        shift = np.full(len(D), _START_SHIFT)
        inverse = np.linalg.inv(exact @ exact.T + np.diag(shift))
        return cls(D, D.T.copy(), lengths, inverse.astype(np.float32), shift.astype(np.float32))


@dataclass(frozen=True)
class _Words:
    """Dᵀ as it is, with sums and lengths of the atoms in float64."""

    Dt: Array
    sums: Array
    lengths: Array
    signed: bool

    @classmethod
    def of(cls, problem: CodingProblem) -> "_Words":
        D = problem.D
        sums = D.sum(axis=1, dtype=np.float64)
        lengths = np.sqrt(np.einsum("kf,kf->k", D, D, dtype=np.float64))
        Dt = np.require(problem.transposed, requirements=["C", "W"])
        return cls(Dt, sums, lengths, bool(D.min(initial=0) < 0))


def _points(problem: CodingProblem) -> NonsmoothPoints:
    points = problem.loss.nonsmooth_points
    assert points is not None  # required
    return points


def _weighted_samples(
    problem: CodingProblem, X: Array, weight: Array | None
) -> tuple[Array, Array]:
    """Samples and entry weights in float64: missing entries are zero, zeros have their own weight.

    No weights at all if everything weighs one.
    """
    zero_weight = _points(problem).zero_weight
    x = np.require(X, np.float64, ["C", "W"])
    if weight is None and zero_weight == 1:
        return x, _NOTHING["float64"]
    w = np.ones(x.shape) if weight is None else weight.astype(np.float64)
    if weight is not None:
        x = np.where(w > 0, x, 0)
    w[x == 0] *= zero_weight
    return x, w


# ------------------------------------------------------------------------- polyhedra


def lacks_polyhedron(form: Form) -> str | None:
    """What is missing for codes to be those of a linear program; None if they are."""
    flat = form.fully_declared and (form.row_constraint is None or form.row_constraint.gamma2 == 0)
    bounded = form.lower > -np.inf or form.upper == np.inf
    if form.row_constraint is not None and form.lower != 0:  # sums of absolute values
        return "nonnegative codes where their sum is limited"
    if flat and bounded and form.elastic and form.l2 == 0:
        return None
    return "codes between bounds or of limited sum, under an ℓ1 penalty at most"


@dataclass(frozen=True)
class Widened:
    """An ℓ1 problem in ``c' ≥ 0`` whose solution is that of another one over a polyhedron.

    Each constraint of a polyhedron becomes an absolute value of its violation, in the form of
    further features: an exact penalty, which is zero at the optimum if its weight exceeds every
    slope of the rest. So the simplex method for nonnegative codes solves them all.

    ``c = l + c'`` for codes of at least l, and ``c = c'₁ − c'₂`` for those that have no bounds.
    With S above the slopes of the loss and of the penalty, features are added for

    - ``c ≤ u``:   ``2S[c − u]₊ = S(|c − u| + c − u)``, a weight of S and a penalty of S;
    - ``Σc ≤ r``:  the same of the sum;
    - ``Σc = r``:  ``2S|Σc − r|``;
    - ``λ|c|`` of codes that may be negative: a weight of λ on ``|c' − (−l)|``.
    """

    original: CodingProblem
    problem: CodingProblem
    X: Array
    weight: Array

    @classmethod
    def of(cls, problem: CodingProblem, X: Array, weight: Array) -> "Widened":
        """From samples and weights in float64; no weights are ones."""
        form, D, l1 = problem.regulariser.form, problem.D.astype(np.float64), 0.0
        K = len(D)
        weight = weight if len(weight) else np.ones(X.shape)
        if form.lower == -np.inf:
            both = CodingProblem(np.vstack([D, -D]), L1Distance(), Regulariser(ElasticNet(form.l1)))
            return cls(problem, both, X, weight)
        slope = float(weight.max()) * float(np.abs(D).sum(axis=1).max()) + form.l1
        slope, low = max(slope, TINY), form.lower
        eye, ones = np.eye(K), np.ones((K, 1))
        blocks: list[Array] = [D]
        values: list[Array] = [X - low * D.sum(axis=0)]
        weights: list[Array] = [weight]

        def add(block: Array, value: float, amount: float) -> None:
            shape = (len(X), block.shape[1])
            blocks.append(block)
            values.append(np.full(shape, value))
            weights.append(np.full(shape, amount))

        if low >= 0:
            l1 = form.l1
        elif form.l1:
            add(eye, -low, form.l1)
        if form.upper < np.inf:
            add(eye, form.upper - low, slope)
            l1 += slope
        if form.row_constraint is not None:
            tight = form.row_constraint.equality
            add(ones, form.row_constraint.radius, 2 * slope if tight else slope)
            l1 += 0.0 if tight else slope
        wider = CodingProblem(np.hstack(blocks), L1Distance(), Regulariser(ElasticNet(l1)))
        return cls(problem, wider, np.hstack(values), np.hstack(weights))

    def start(self, codes: Array | None) -> Any:
        """Codes of the original problem as codes of this one."""
        form = self.original.regulariser.form
        if codes is None:
            return None
        if form.lower == -np.inf:
            return np.hstack([np.maximum(codes, 0), np.maximum(-codes, 0)])
        return codes - form.lower

    def codes(self, found: Array) -> Array:
        """Codes of the original problem, projected because of rounding errors."""
        regulariser, K = self.original.regulariser, len(self.original.D)
        low = regulariser.form.lower
        C = found[:, :K] - found[:, K:] if low == -np.inf else found + low
        return regulariser.region.project(C)
