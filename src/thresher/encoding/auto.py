"""The choice among encoders: ordered lists of candidates, each with the reason for its place.

The first candidate that the problem and the rows suit is the one that runs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.block_admm import (
    ITERATIONS_IF_MISSING,
    BlockADMM,
    InexactStop,
    ResidualTolerance,
)
from thresher.encoding.block_newton import BlockNewton
from thresher.encoding.first_order import ArmijoGradient, MultiplicativeUpdates
from thresher.encoding.gram import Gram
from thresher.encoding.least_absolute import LeastAbsolute
from thresher.encoding.loop import (
    Certified,
    Encoder,
    Encoding,
    IterativeEncoder,
    Never,
    PreparedEncoder,
    Status,
)
from thresher.encoding.newton import Newton, NewtonStart
from thresher.encoding.problem import CodingProblem, Rows
from thresher.encoding.sparse_power import SparsePower
from thresher.encoding.stages import ConvexStart, Stages
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.penalties import Regulariser


def any_rows(problem: CodingProblem, rows: Rows) -> str | None:
    """Require nothing."""
    return None


def sparse_rows(problem: CodingProblem, rows: Rows) -> str | None:
    """Require sparse rows."""
    return None if rows.sparse else "sparse samples"


def smooth_loss(problem: CodingProblem, rows: Rows) -> str | None:
    """Require a smooth loss."""
    return None if problem.loss.smooth else "a smooth loss"


@dataclass(frozen=True)
class EncoderCandidate:
    """An encoder in its place.

    Parameters
    ----------
    name : str
        Short name, shown as ``encoder_``.
    make : callable
        Makes the encoder from a tolerance and a bound on the iterations.
    reason : str
        Why it has this place in its list, as it was measured.
    requires : callable
        What this place requires in addition to the encoder.
    """

    name: str
    make: Callable[[float, int], Encoder]
    reason: str
    requires: Callable[[CodingProblem, Rows], str | None] = any_rows


# ----------------------------------------------------------------------------- exact codes

_STEPS_PER_ITERATION = 20  # a simplex step is that much cheaper than an ADMM iteration
_STEPS_BEFORE_NEWTON = 8
_NEWTON_STEPS = 50  # before the first method goes on; most rows need below ten


def _with_newton(solver: Any, tol: float, max_iter: int, start: Encoder | None) -> Stages:
    """A few cheap steps that bring most rows to the tolerance, Newton steps for the others.

    Where a Newton step may stall, at the surface of a set, the first method goes on after some.
    """
    encoders = (
        IterativeEncoder(solver, Certified(tol), _STEPS_BEFORE_NEWTON),
        IterativeEncoder(BlockNewton(orthant_only=True), Certified(tol, 1), max_iter),
        IterativeEncoder(BlockNewton(), Certified(tol, 1), _NEWTON_STEPS),
        IterativeEncoder(solver, Certified(tol), max_iter),
    )
    return Stages(encoders, start, max_iter)


EXACT: tuple[EncoderCandidate, ...] = (
    EncoderCandidate(
        "gram",
        lambda tol, max_iter: Gram(AutoEncoder(tol, max_iter)),
        "a squared loss depends on a sample through its products with the atoms: K numbers instead "
        "of F, and sparse rows take one sparse product",
    ),
    EncoderCandidate(
        "sparse_updates",
        SparsePower,
        "a sparse row is a problem on its own nonzeros; 1/10 to 1/28 of the time of expanded rows "
        "on news (docs/guide/divergences.md)",
    ),
    EncoderCandidate(
        "simplex_method",
        lambda tol, max_iter: LeastAbsolute(tol, _STEPS_PER_ITERATION * max_iter),
        "the optimum is a vertex, which a simplex method reaches exactly and smoothing never does "
        "(docs/lab/l1_dictionary.md)",
    ),
    EncoderCandidate(
        "newton",
        lambda tol, max_iter: Stages((Newton(tol, max_iter),), NewtonStart(), max_iter),
        "one or two steps on the inliers reach machine precision from five iterations of ADMM, "
        "which alone needs 40 to 90 (docs/lab/encoders.md)",
    ),
    EncoderCandidate(
        "admm_newton",
        lambda tol, max_iter: _with_newton(BlockADMM(), tol, max_iter, None),
        "a convex loss has a proximal map; eight iterations bring most rows to the tolerance, "
        "Newton steps the others (docs/guide/divergences.md)",
    ),
    EncoderCandidate(
        "admm",
        lambda tol, max_iter: IterativeEncoder(BlockADMM(), ResidualTolerance(tol), max_iter),
        "a nonsmooth loss on other sets has a proximal map, and no gradient to rely on",
    ),
    EncoderCandidate(
        "multiplicative_newton",
        lambda tol, max_iter: _with_newton(MultiplicativeUpdates(), tol, max_iter, ConvexStart()),
        "a loss that is not convex has no proximal map, but updates that never increase it",
    ),
    EncoderCandidate(
        "projected_gradient",
        lambda tol, max_iter: _with_newton(ArmijoGradient(), tol, max_iter, ConvexStart()),
        "on sets that tie codes together, such a loss has its gradient and nothing else",
    ),
)
"""Encoders whose rows meet the tolerance, or whose status reports that they do not."""

# ----------------------------------------------------------------------- approximate codes

_ITERATIONS = 4
# Nonsmooth losses converge slowly: with four iterations dictionaries end 4 % above the planted one,
# with twelve 1 % (docs/lab/manhattan.md).
_ITERATIONS_NONSMOOTH = 12
_STEPS = 20  # multiplicative updates, or gradient steps


def _fixed(solver: Any, iterations: int) -> IterativeEncoder:
    return IterativeEncoder(solver, Never(), iterations)


_TEACHES_AS_WELL = (
    "a few iterations with the proximal map of a convex loss teach as well as exact codes "
    "(docs/lab/learner.md)"
)

APPROXIMATE: tuple[EncoderCandidate, ...] = (
    EncoderCandidate(
        "gram",
        lambda tol, max_iter: Gram(AutoEncoder(None, 0, APPROXIMATE)),
        "a squared loss depends on a sample through its products with the atoms: K numbers, not F",
    ),
    EncoderCandidate(
        "sparse_updates",
        lambda tol, max_iter: SparsePower(None),
        "five expectation steps on the nonzeros teach as well as exact codes "
        "(docs/guide/divergences.md)",
    ),
    EncoderCandidate(
        "simplex_method",
        lambda tol, max_iter: LeastAbsolute(),
        "exact codes of sparse rows under the ℓ1 distance cost a few passes over their nonzeros",
        sparse_rows,
    ),
    EncoderCandidate(
        "admm",
        lambda tol, max_iter: IterativeEncoder(
            BlockADMM(), InexactStop(rounds=_ITERATIONS), ITERATIONS_IF_MISSING
        ),
        _TEACHES_AS_WELL,
    ),
    EncoderCandidate(
        "admm",
        lambda tol, max_iter: _fixed(BlockADMM(), _ITERATIONS),
        _TEACHES_AS_WELL,
        smooth_loss,
    ),
    EncoderCandidate(
        "admm",
        lambda tol, max_iter: _fixed(BlockADMM(), _ITERATIONS_NONSMOOTH),
        f"{_TEACHES_AS_WELL}; nonsmooth losses converge slowly (docs/lab/manhattan.md)",
    ),
    EncoderCandidate(
        "multiplicative",
        lambda tol, max_iter: Stages((_fixed(MultiplicativeUpdates(), _STEPS),), ConvexStart()),
        "a loss that is not convex has no proximal map, but updates that never increase it",
    ),
    EncoderCandidate(
        "projected_gradient",
        lambda tol, max_iter: Stages((_fixed(ArmijoGradient(), _STEPS),), ConvexStart()),
        "on sets that tie codes together, such a loss has its gradient and nothing else",
    ),
)
"""Encoders whose codes are good enough to learn from."""

APPROXIMATE_UPDATES = (
    *(one for one in APPROXIMATE if one.name in ("sparse_updates", "multiplicative")),
    *APPROXIMATE,
)
"""The same, with expectation steps and multiplicative updates first. Their predictions have the sum
of the row, so that no entry of it is lost to sums of ratios; a few iterations of ADMM may leave a
row without codes."""

# -------------------------------------------------------------------------------- the choice


class EncoderChoice(NamedTuple):
    """The encoder that was chosen, its name, and the reason for its place."""

    encoder: Encoder
    name: str
    reason: str


def choose(
    candidates: tuple[EncoderCandidate, ...],
    problem: CodingProblem,
    rows: Rows,
    tol: float,
    max_iter: int,
) -> EncoderChoice:
    """Return the first encoder that the problem suits."""
    reason: str | None = None
    for candidate in candidates:
        encoder = candidate.make(tol, max_iter)
        reason = candidate.requires(problem, rows) or encoder.requires(problem, rows)
        if reason is None:
            return EncoderChoice(encoder, candidate.name, candidate.reason)
    regulariser = problem.regulariser
    raise ValueError(
        f"No method finds codes under {problem.loss} with {regulariser.penalty} on "
        f"{regulariser.region}; the last one tried needs {reason}."
    )


def can_stay_sparse(loss: Loss, codes: Regulariser) -> bool:
    """Whether rows of such a problem have an exact method on their nonzeros alone.

    Kinks under a curved penalty have none: these rows are expanded, block by block.
    """
    plain = codes.form.lacks_plain_codes is None
    return plain and (loss.smooth or codes.form.l2 == 0)


@dataclass(frozen=True)
class AutoEncoder(Encoder):
    """The first candidate that suits the problem, with its loss in the simplest form.

    Parameters
    ----------
    tol : float or None
        Bound on the certificate of a row. Rows that miss it and are worse than zero codes become
        zero. None for approximate codes.
    max_iter : int
    candidates : tuple of EncoderCandidate
    """

    tol: float | None = 1e-4
    max_iter: int = 1000
    candidates: tuple[EncoderCandidate, ...] = EXACT

    def choice(self, problem: CodingProblem, rows: Rows) -> EncoderChoice:
        """Return the encoder of such rows, its name, and the reason for the choice."""
        return choose(self.candidates, problem.simplified, rows, self.tol or 0.0, self.max_iter)

    def precompute(self, problem: CodingProblem, rows: Rows) -> Any:
        """Choose, and prepare the choice; another one for blocks with missing entries, if needed.

        Whether entries are missing shows only when a block is loaded.
        """
        chosen, simple = self.choice(problem, rows).encoder, problem.simplified
        encode = chosen.prepare(simple, rows)

        @cache
        def encode_weighted() -> PreparedEncoder:
            weighted = replace(rows, weighted=True)
            other = self.choice(problem, weighted).encoder
            return encode if other == chosen else other.prepare(simple, weighted)

        return encode, encode_weighted

    def run(
        self, problem: CodingProblem, shared: Any, X: Any, weight: Array | None, start: Array | None
    ) -> Encoding:
        """Find the codes of the rows of a block; ``weight`` 0 marks missing entries."""
        encode, encode_weighted = shared
        encode = encode if weight is None else encode_weighted()
        encoding: Encoding = encode(X, weight, start)
        if self.tol is None:
            return encoding
        late = encoding.status != Status.CONVERGED
        if late.any():
            _replace_by_zeros(problem, X, weight, encoding, late, self.tol)
        return encoding

    def certificate(
        self, problem: CodingProblem, X: Any, C: Array, weight: Array | None = None
    ) -> Array:
        """That of the encoder that is chosen for such rows."""
        chosen = self.choice(problem, Rows.of(X, weight)).encoder
        return chosen.certificate(problem.simplified, X, C, weight)


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
