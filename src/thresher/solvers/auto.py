"""The library's own choice, ``auto``: ordered candidates with measured reasons."""

from dataclasses import dataclass, replace
from typing import Any

from thresher.encoding import (
    APPROXIMATE,
    APPROXIMATE_UPDATES,
    ITERATIONS_IF_MISSING,
    AutoEncoder,
    BlockADMM,
    Encoder,
    InexactStop,
    IterativeEncoder,
    Never,
    can_stay_sparse,
)
from thresher.engine import Candidate, Candidates, Method, Specification
from thresher.engine.first_batch import is_mostly_zero, spans_decades
from thresher.learning import (
    BlockDescent,
    DiagonalLearner,
    Forgetting,
    OrthogonalLearner,
    PowerForgetting,
    QuadraticLearner,
    RatioLearner,
    RefinedLearner,
    TrackedLearner,
)
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.manhattan import (
    LARGE,
    ExactRows,
    FactorSpecification,
    Half,
    HalfSolver,
    NesterovSmoothing,
    RankOneSweeps,
)
from thresher.manhattan.symmetric import manhattan_sweep
from thresher.penalties import Regulariser
from thresher.published.low_rank import BasisLearner, BasisMethod, RidgeRegression
from thresher.streams import Batch

# ------------------------------------------------------------------------------- forgetting

# Heuristic, with measurements in docs/lab/learner.md. In random order, old samples slow learning
# down, as they were coded with poorer dictionaries. In the order of time, they have to be kept.
_FORGETTING_SHUFFLED = PowerForgetting(60.0)
_AVERAGING_SHUFFLED = 10.0
_FORGETTING_IN_ORDER = PowerForgetting(3.0)
# For ratios of sums in random order; they need no averaging (docs/guide/divergences.md).
_FORGETTING_RATIOS = PowerForgetting(10.0)


def _forgetting(given: Specification, shuffled: Forgetting = _FORGETTING_SHUFFLED) -> Forgetting:
    if given.forgetting is not None:
        return given.forgetting
    return _FORGETTING_IN_ORDER if given.in_order else shuffled


def _averaged(method: Method) -> Method:
    """Average the dictionaries of a method that forgets fast."""
    fast = method.forgetting == _FORGETTING_SHUFFLED
    return replace(method, averaging=_AVERAGING_SHUFFLED if fast else 0.0)


def _streaming(method: Method) -> Method:
    """Return the online method whose passes precede an alternation."""
    return _averaged(replace(method, forgetting=_FORGETTING_SHUFFLED))


# ------------------------------------------------------------------ robust factorisations (A)

_SIX_ITERATIONS = IterativeEncoder(BlockADMM(), Never(), 6)
_PATIENT = IterativeEncoder(BlockADMM(), Never(), ITERATIONS_IF_MISSING)
_STREAMING = IterativeEncoder(BlockADMM(), InexactStop(), ITERATIONS_IF_MISSING)

_OUTLIERS = (
    "block ADMM codes, block coordinate descent dictionary: the squared loss with outliers has "
    "bounded curvature, so quadratic majorisers are tight (docs/lab/learner.md)"
)
_BASIS = (
    "block ADMM codes, ridge regression for the basis: without signs and sets, it is the exact "
    "minimiser"
)


def _outlier_encoder(given: Specification, encoder: Encoder) -> Encoder:
    """Allow more iterations where λ is measured: before, rows of mostly noise are not known."""
    return _PATIENT if given.outlier_weight.measures == "residuals" else encoder


def _outlier_method(given: Specification, encoder: Encoder) -> Method:
    return Method(
        encoder=_outlier_encoder(given, encoder),
        learner=QuadraticLearner(BlockDescent(), sharp=True),
        keep_stored=given.only_stored,
        **given.parts(),
    )


def online_robust(given: Specification) -> Candidates[Method]:
    """Online robust NMF and dictionaries with outliers."""
    method = _outlier_method(replace(given, forgetting=_forgetting(given)), _STREAMING)
    return (Candidate("quadratic", _averaged(method), _OUTLIERS),)


def batch_robust(given: Specification) -> Candidates[Method]:
    """Alternation for the same problem."""
    method = _outlier_method(given, _SIX_ITERATIONS)
    return (Candidate("quadratic", method, _OUTLIERS, warm_start=_streaming(method)),)


def online_pca(given: Specification, ridge: float | None) -> Candidates[Method]:
    """Online robust PCA with the ridge λ₁; None is λ₂."""
    method = BasisMethod(
        encoder=_outlier_encoder(given, _STREAMING),
        learner=BasisLearner(RidgeRegression(), sharp=True),
        keep_stored=given.only_stored,
        ridge=ridge,
        **replace(given, forgetting=_forgetting(given)).parts(),
    )
    return (Candidate("basis", _averaged(method), _BASIS),)


def whole_matrix(given: Specification, name: str, reason: str) -> Candidates[Method]:
    """A method of the whole matrix; its encoder and learner serve later samples."""
    return (Candidate(name, _outlier_method(given, AutoEncoder()), reason),)


# --------------------------------------------------------------------- general divergences (E)

_QUADRATIC = (
    "quadratic majorisers learn fastest where one curvature serves all samples of a feature "
    "(docs/guide/divergences.md)"
)
_RATIOS = (
    "features that are often zero, or span decades, have no common curvature; ratios of sums are "
    "far better there, and slower on other data (docs/guide/divergences.md)"
)
_APPROXIMATE = AutoEncoder(None, candidates=APPROXIMATE)
_UPDATES = AutoEncoder(None, candidates=APPROXIMATE_UPDATES)
_PRIOR = 2.0  # of online ratios (docs/guide/divergences.md)


@dataclass(frozen=True)
class NeedsRatios:
    """Require a first batch on which ratios of sums learn better."""

    power: float

    def __call__(self, batch: Batch) -> str | None:
        """Test the values of the batch, however they are stored."""
        if is_mostly_zero(batch) or spans_decades(batch, self.power):
            return None
        return "features that are often zero or span decades"


def _divergence_method(given: Specification, encoder: Encoder) -> Method:
    """The method with quadratic majorisers."""
    loss = given.loss(1.0)
    return Method(
        encoder=encoder,
        learner=QuadraticLearner(BlockDescent(), sharp=not loss.couples_features),
        keep_sparse=can_stay_sparse(loss, given.code_regulariser),
        keep_stored=given.only_stored,
        **given.parts(),
    )


def _lacks_majoriser(loss: Loss, atoms: Regulariser) -> str | None:
    """The requirement of ratios of sums that loss or set do not meet; None if they are met.

    Where curvature is bounded, quadratics learn better.
    """
    if loss.powers is None or loss.curvature < float("inf"):
        return "a divergence with a proven majoriser and no bounded curvature"
    return RatioLearner(*loss.powers).requires(loss, atoms.form)


def _ratios(method: Method, prior: float, **changes: Any) -> Method:
    loss, codes = method.loss(1.0), method.code_regulariser
    assert loss.powers is not None
    rescale = codes.form.is_scale_invariant
    return replace(method, learner=RatioLearner(*loss.powers, rescale, prior), **changes)


def _by_first_batch(ratios: Candidate[Method], quadratic: Candidate[Method]) -> Candidates[Method]:
    """Ratios if the first batch requires them; α-divergences start by k-means++."""
    loss = ratios.method.loss(1.0)
    assert loss.powers is not None
    start = None if loss.order is None else "k-means++"

    def change(candidate: Candidate[Method], **changes: Any) -> Candidate[Method]:
        changes["default_init"] = start
        before = candidate.warm_start
        return replace(
            candidate,
            method=replace(candidate.method, **changes),
            warm_start=None if before is None else replace(before, **changes),
        )

    first = replace(ratios, requires=NeedsRatios(sum(loss.powers)))
    return change(first, as_sparse=True), change(quadratic, keep_sparse=False)


def online_divergence(given: Specification) -> Candidates[Method]:
    """Ratios of sums or quadratics, by the first batch."""
    method = _divergence_method(replace(given, forgetting=_forgetting(given)), _APPROXIMATE)
    quadratic = Candidate("quadratic", _averaged(method), _QUADRATIC)
    if _lacks_majoriser(method.loss(1.0), method.dictionary_regulariser) is not None:
        return (quadratic,)
    encoder, forgetting = _UPDATES, _forgetting(given, _FORGETTING_RATIOS)
    ratios = _ratios(method, _PRIOR, encoder=encoder, forgetting=forgetting)
    return _by_first_batch(Candidate("ratios", ratios, _RATIOS), quadratic)


def batch_divergence(given: Specification) -> Candidates[Method]:
    """Alternation with ratios where they apply, as the objective never rises with them."""
    method = _divergence_method(given, AutoEncoder(1e-3, 100))
    quadratic = Candidate("quadratic", method, _QUADRATIC, warm_start=_streaming(method))
    if _lacks_majoriser(method.loss(1.0), method.dictionary_regulariser) is not None:
        return (quadratic,)
    ratios = _ratios(method, 0.0)
    # With nearly exact codes, atoms specialise too early; the online encoder is better here too.
    encoder, forgetting = _UPDATES, _FORGETTING_RATIOS
    streaming = _ratios(method, _PRIOR, encoder=encoder, forgetting=forgetting)
    first = Candidate("ratios", ratios, _RATIOS, warm_start=streaming)
    return _by_first_batch(first, replace(quadratic, method=ratios))


# ------------------------------------------------------------------------ ℓ1 dictionaries (B)

_SEPARABLE = (
    "words occur with few atoms, so curvatures differ between atoms, and steps with a common one "
    "overshoot (docs/lab/l1_dictionary.md)"
)


def _mostly_zero(batch: Batch) -> str | None:
    return None if is_mostly_zero(batch) else "samples whose entries are mostly zero"


def _in_random_order(batch: Batch) -> str | None:
    # In the order of time new words appear, and steps that overshoot track them faster
    # (docs/lab/l1_dictionary.md).
    return "samples in random order"


def _by_sparsity(given: Specification, quadratic: Candidate[Method]) -> Candidates[Method]:
    """Separable quadratics for documents in random order, otherwise common ones."""
    before, learner = quadratic.warm_start, DiagonalLearner()
    separable = Candidate(
        "separable",
        replace(quadratic.method, learner=learner),
        _SEPARABLE,
        _in_random_order if given.in_order else _mostly_zero,
        None if before is None else replace(before, learner=learner),
    )
    return separable, quadratic


def online_l1(given: Specification) -> Candidates[Method]:
    """Online dictionaries for the ℓ1 distance."""
    known = replace(given, forgetting=_forgetting(given))
    method = _averaged(_divergence_method(known, AutoEncoder(1e-3, 100)))
    return _by_sparsity(given, Candidate("quadratic", method, _QUADRATIC))


def batch_l1(given: Specification) -> Candidates[Method]:
    """Alternation for the same problem."""
    method = _divergence_method(given, AutoEncoder(1e-3, 100))
    quadratic = Candidate("quadratic", method, _QUADRATIC, warm_start=_streaming(method))
    return _by_sparsity(replace(given, in_order=False), quadratic)


# -------------------------------------------------------------------------- Manhattan NMF (C)

_FACTORS = (
    "both factors stay in memory; ADMM on both finds the neighbourhood of a good optimum in a few "
    "iterations, and sweeps finish, or exact rows for large sparse data (docs/lab/manhattan.md)"
)
_ADMM_TOL = 5.0  # of ADMM, in units of ``tol``; heuristic
_DEFAULT_TOL = 1e-4  # stands for a ``tol`` of 0, at which ADMM would not end


def _best_half(half: Half) -> HalfSolver:
    # Small sparse data are expanded quickly, and sweeps support all weights.
    large = half.samples.shape[0] * half.samples.shape[1] > LARGE
    if large and half.is_sparse and ExactRows().requires(half) is None:
        return ExactRows()
    if RankOneSweeps().requires(half) is None:
        return RankOneSweeps()
    return NesterovSmoothing()


def manhattan(given: FactorSpecification) -> Candidates[Method]:
    """ADMM, then a solver for each half."""
    method = Method(
        encoder=given.encoder,
        learner=QuadraticLearner(BlockDescent()),  # keeps no statistics: all is in memory
        keep_sparse=given.keeps_sparse,
        rounds=given.rounds(_best_half, admm_tol=_ADMM_TOL * (given.tol or _DEFAULT_TOL)),
        **given.parts(),
    )
    given.check_scale(method.dictionary_regulariser)
    return (Candidate("factors", method, _FACTORS),)


class RowSweeps:
    """Symmetric factorisation row by row, entry by entry."""

    def sweep(self, X: Any, H: Array) -> None:
        """Sweep once over H, in place."""
        manhattan_sweep(X, H)

    def absolute_tol(self, X: Any) -> float | None:
        """None: ``tol`` is relative."""
        return None


# ----------------------------------------------------------------- orthogonal dictionaries (D)


class BestOrthogonal:
    """The refined learner, or the tracked one where data drift."""

    powers = (3,)

    def learner(self, p: int, drifts: bool) -> OrthogonalLearner:
        """The learner of the ℓ3 norm."""
        return TrackedLearner() if drifts else RefinedLearner()
