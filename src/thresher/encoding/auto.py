"""The encoders that `auto` stands for: ordered lists of methods, each with a reason for its place.

The first method whose requirements the problem and the rows meet is the one that runs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.candidates import Candidate, Choice, choose
from thresher.encoding.compressed import Compressed
from thresher.encoding.descent import ProjectedDescent
from thresher.encoding.iterate import Encoding, Status
from thresher.encoding.least_absolute import LeastAbsolute
from thresher.encoding.newton import Newton
from thresher.encoding.problem import DENSE, CodingProblem, Rows
from thresher.encoding.rough import RoughBlocks, RoughUpdates
from thresher.encoding.settled_blocks import SettledBlocks
from thresher.encoding.sparse_power import RoughSparsePower, SparsePower
from thresher.encoding.two_stages import BlocksThenNewton, UpdatesThenNewton
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.penalties import Regulariser

_ROUGH_DESCENT = 20  # steps: as many as updates
_STEPS_PER_ITERATION = 20  # a simplex step is that much cheaper than a round

EXACT = (
    Candidate(
        "gram",
        lambda tol, max_iter: Compressed(AutoEncoder(tol, max_iter)),
        "squares see a sample through its products with the atoms: K numbers instead of F, and "
        "sparse rows by one sparse product",
    ),
    Candidate(
        "sparse_updates",
        SparsePower,
        "a sparse row is a problem on its own nonzeros; 1/10 to 1/28 of the time of expanded rows "
        "on news (docs/guide/divergences.md)",
    ),
    Candidate(
        "simplex_method",
        lambda tol, max_iter: LeastAbsolute(tol, _STEPS_PER_ITERATION * max_iter),
        "the optimum is a vertex, which a simplex method reaches exactly and smoothing never does "
        "(docs/lab/l1_dictionary.md)",
    ),
    Candidate(
        "admm",
        SettledBlocks,
        "kinks on other sets have a proximal map, and nothing else that could be relied on",
    ),
    Candidate(
        "newton",
        Newton,
        "one or two steps on the inliers reach machine precision from five rounds of ADMM, which "
        "alone needs 40 to 90 (docs/lab/encoders.md)",
    ),
    Candidate(
        "admm_newton",
        BlocksThenNewton,
        "a convex loss has a proximal map; eight rounds bring most rows to the tolerance, Newton "
        "steps the others (docs/guide/divergences.md)",
    ),
    Candidate(
        "multiplicative_newton",
        UpdatesThenNewton,
        "a loss that is not convex has no proximal map, but updates that never make it rise",
    ),
    Candidate(
        "projected_gradient",
        ProjectedDescent,
        "on sets that tie codes together, such a loss has its slope and nothing else",
    ),
)

ROUGH = (
    Candidate(
        "gram",
        lambda tol, max_iter: Compressed(RoughEncoder()),
        "squares see a sample through its products with the atoms: K numbers instead of F",
    ),
    Candidate(
        "sparse_updates",
        lambda tol, max_iter: RoughSparsePower(),
        "five expectation steps on the nonzeros teach as well as exact codes "
        "(docs/guide/divergences.md)",
    ),
    Candidate(
        "simplex_method",
        lambda tol, max_iter: ExactIfSparse(),
        "exact codes of sparse rows under the ℓ1 distance cost a few readings of their words",
    ),
    Candidate(
        "admm",
        lambda tol, max_iter: RoughBlocks(),
        "a few rounds with the proximal map of a convex loss teach as well as exact codes "
        "(docs/lab/learner.md)",
    ),
    Candidate(
        "multiplicative",
        lambda tol, max_iter: RoughUpdates(),
        "a loss that is not convex has no proximal map, but updates that never make it rise",
    ),
    Candidate(
        "projected_gradient",
        lambda tol, max_iter: ProjectedDescent(None, _ROUGH_DESCENT),
        "on sets that tie codes together, such a loss has its slope and nothing else",
    ),
)

MULTIPLICATIVE = (ROUGH[1], ROUGH[4], *ROUGH)
"""Expectation steps and multiplicative updates first. Their predictions have the sum of the row, so
that no entry of it is lost to sums of ratios; a few iterations of ADMM may leave a row without
codes."""


def can_stay_sparse(loss: Loss, codes: Regulariser) -> bool:
    """Whether rows of such a problem have an exact method on their nonzeros alone.

    Kinks under a curved penalty have none: these rows are expanded, block by block.
    """
    plain = codes.form.lacks_plain_codes is None
    return plain and (loss.smooth or codes.form.l2 == 0)


@dataclass(frozen=True)
class ExactIfSparse(LeastAbsolute):
    """`LeastAbsolute`, for sparse rows only."""

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """Sparse rows."""
        return super().requires(problem, rows) if rows.sparse else "sparse samples"


@dataclass(frozen=True)
class AutoEncoder:
    """Exact codes by the first of `EXACT` that suits: rows meet ``tol``, or their status tells."""

    tol: float = 1e-4
    max_iter: int = 1000

    def choice(self, problem: CodingProblem, rows: Rows) -> Choice:
        """Return the method that codes such rows, its name, and the reason for the choice."""
        simple = problem.simplified()

        def make() -> Choice:
            return choose(EXACT, simple, rows, self.tol, self.max_iter)

        chosen: Choice = simple.remember_always(self._key(rows), make)
        return chosen

    def _key(self, rows: Rows) -> tuple[Any, ...]:
        return "exact", self.tol, self.max_iter, rows.sparse, rows.weighted

    def prepare(self, problem: CodingProblem, rows: Rows = DENSE) -> None:
        """Compute once what blocks of such rows share."""
        simple = problem.simplified()

        def make() -> None:
            self.choice(problem, rows).method.prepare(simple)

        simple.remember(("prepared", self._key(rows)), make)

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Find the codes of the rows of a block; ``weight`` 0 marks missing entries."""
        method = self.choice(problem, Rows.of(X, weight)).method
        encoding = method.encode(problem.simplified(), X, weight, start)
        late = encoding.status != Status.CONVERGED
        if late.any():
            _replace_by_zeros(problem, X, weight, encoding, late, self.tol)
        return encoding


def _replace_by_zeros(
    problem: CodingProblem,
    X: Any,
    weight: Array | None,
    encoding: Encoding,
    late: NDArray[np.bool_],
    tol: float,
) -> None:
    """Replace codes that did not converge and are worse than zeros, where zeros are allowed."""
    form = problem.regulariser.form
    if not form.lower <= 0 <= form.upper or (
        form.row_constraint is not None and form.row_constraint.equality
    ):
        return
    samples, mask = X[late], None if weight is None else weight[late]
    codes = encoding.codes[late]
    zeros = np.zeros_like(codes)
    with np.errstate(all="ignore"):  # codes that are not finite have no objective
        cost, cost_of_zeros = (problem.objective(samples, C, mask) for C in (codes, zeros))
        worse = ~(cost <= cost_of_zeros)
    if worse.any():
        rows = np.flatnonzero(late)[worse]
        mask = None if mask is None else mask[worse]
        encoding.codes[rows] = 0
        encoding.certificate[rows] = problem.certificate(samples[worse], zeros[worse], mask)
        optimal = rows[encoding.certificate[rows] <= tol]
        encoding.status[optimal] = Status.CONVERGED


@dataclass(frozen=True)
class RoughEncoder:
    """Codes that are good enough to learn from, by the first of `ROUGH` that suits.

    ``multiplicative`` takes the first of `MULTIPLICATIVE` instead.
    """

    multiplicative: bool = False

    def choice(self, problem: CodingProblem, rows: Rows) -> Choice:
        """Return the method that codes such rows, its name, and the reason for the choice."""
        simple = problem.simplified()

        def make() -> Choice:
            candidates = MULTIPLICATIVE if self.multiplicative else ROUGH
            return choose(candidates, simple, rows, 0.0, 0)

        chosen: Choice = simple.remember_always(self._key(rows), make)
        return chosen

    def _key(self, rows: Rows) -> tuple[Any, ...]:
        return "rough", self.multiplicative, rows.sparse, rows.weighted

    def prepare(self, problem: CodingProblem, rows: Rows = DENSE) -> None:
        """Compute once what blocks of such rows share."""
        simple = problem.simplified()

        def make() -> None:
            self.choice(problem, rows).method.prepare(simple)

        simple.remember(("prepared", self._key(rows)), make)

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Rough codes of the rows of a block."""
        method = self.choice(problem, Rows.of(X, weight)).method
        return method.encode(problem.simplified(), X, weight, start)
