"""Solvers by name: the library's own choice, ``auto``, and the published ones.

A solver is a function from a `Specification` to candidate methods; the first batch decides among
them. ``OnlineRobustNMF(solver="opgd")`` is a solver with the constants of its paper;
``OnlineRobustNMF(solver=thresher.solvers.opgd(kappa=0.5))`` is the same with others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from thresher.encoding import (
    APPROXIMATE,
    APPROXIMATE_UPDATES,
    ROUNDS_WITH_GAPS,
    AutoEncoder,
    BlockADMM,
    Encoder,
    IterativeEncoder,
    Never,
    StartIsGood,
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
from thresher.published.base import Published
from thresher.published.divergences import MU, SPSGD, OLGuan, OLLef, OLWang
from thresher.published.l1_dictionary import ADMM, OIADMM
from thresher.published.low_rank import (
    DUAL_PER_PRIMAL,
    BasisLearner,
    BasisMethod,
    RidgeRegression,
    default_weight,
    godec,
    pursue,
)
from thresher.published.manhattan import OGM, RRI, SymmetricRRI
from thresher.published.novelty import BatchImpl, L2Batch, Online, SparseCoding
from thresher.published.orthogonal import AODL, SFW, NoncvxSFW
from thresher.published.outliers import BADMM, BPGD, OADMM, OPGD
from thresher.streams import Batch

# As they are written in ``solver="..."``.
opgd, oadmm, bpgd, badmm = OPGD, OADMM, BPGD, BADMM
oiadmm, admm = OIADMM, ADMM
online, batch_impl, l2_batch, sparse_coding = Online, BatchImpl, L2Batch, SparseCoding
rri, ogm, symmetric_rri = RRI, OGM, SymmetricRRI
noncvx_sfw, sfw, aodl = NoncvxSFW, SFW, AODL
spsgd, ol_guan, ol_lef, ol_wang, mu = SPSGD, OLGuan, OLLef, OLWang, MU


def name_of(value: Any) -> str:
    """Return the name of a solver for states and files, or the class of another object."""
    if isinstance(value, Published):
        return value.name
    return value if isinstance(value, str) else type(value).__name__


def named_solver(value: Any, solvers: Mapping[str, Any]) -> Any:
    """Return a solver of a table from its name, or a published one of it as it is."""
    if isinstance(value, str) and value in solvers:
        return solvers[value]
    kinds = tuple(type(solver) for solver in solvers.values() if isinstance(solver, Published))
    if isinstance(value, kinds):
        return value
    *others, last = map(repr, solvers)
    raise ValueError(f"solver={value!r} is not known; use {', '.join(others)} or {last}.")


# ------------------------------------------------------------------------------- forgetting

# Heuristic, explained in docs/lab/learner.md. In random order old samples only hold back, as
# they were coded with poorer dictionaries; in the order of time they are what the model must
# remember.
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
    """The method with the average of its dictionaries, where it forgets fast."""
    fast = method.forgetting == _FORGETTING_SHUFFLED
    return replace(method, averaging=_AVERAGING_SHUFFLED if fast else 0.0)


def _streaming(method: Method) -> Method:
    """The online method whose passes precede an alternation."""
    return _averaged(replace(method, forgetting=_FORGETTING_SHUFFLED))


# ------------------------------------------------------------------ robust factorisations (A)

_SIX_ROUNDS = IterativeEncoder(BlockADMM(), Never(), 6)
_PATIENT = IterativeEncoder(BlockADMM(), Never(), ROUNDS_WITH_GAPS)
_STREAMING = IterativeEncoder(BlockADMM(), StartIsGood(), ROUNDS_WITH_GAPS)

_OUTLIERS = (
    "block ADMM codes, block coordinate descent dictionary: a squared loss with outliers set aside "
    "has bounded curvature, and a quadratic that touches it is all it needs (docs/lab/learner.md)"
)
_BASIS = (
    "block ADMM codes, ridge regression for the basis: without signs and sets it is the best basis"
)


def _outlier_encoder(given: Specification, encoder: Encoder) -> Encoder:
    """Before λ is measured, it is not known which rows are mostly noise, so codes take longer."""
    return _PATIENT if given.outlier_weight.measures == "residuals" else encoder


def _outlier_method(given: Specification, encoder: Encoder) -> Method:
    return Method(
        encoder=_outlier_encoder(given, encoder),
        learner=QuadraticLearner(BlockDescent(), sharp=True),
        keep_stored=given.only_stored,
        **given.parts(),
    )


def _auto_online_robust(given: Specification) -> Candidates[Method]:
    method = _outlier_method(replace(given, forgetting=_forgetting(given)), _STREAMING)
    return (Candidate("quadratic", _averaged(method), _OUTLIERS),)


def _auto_batch_robust(given: Specification) -> Candidates[Method]:
    method = _outlier_method(given, _SIX_ROUNDS)
    return (Candidate("quadratic", method, _OUTLIERS, warm_start=_streaming(method)),)


def online_pca(given: Specification, ridge: float | None) -> Candidates[Method]:
    """Online robust PCA with λ₁, which is λ₂ if it is None."""
    method = BasisMethod(
        encoder=_outlier_encoder(given, _STREAMING),
        learner=BasisLearner(RidgeRegression(), sharp=True),
        keep_stored=given.only_stored,
        ridge=ridge,
        **replace(given, forgetting=_forgetting(given)).parts(),
    )
    return (Candidate("basis", _averaged(method), _BASIS),)


def whole_matrix(given: Specification, name: str, reason: str) -> Candidates[Method]:
    """A method of the whole matrix; its encoder and learner serve samples that come later."""
    return (Candidate(name, _outlier_method(given, AutoEncoder()), reason),)


ONLINE_ROBUST_SOLVERS: dict[str, Any] = {
    "auto": _auto_online_robust,
    "opgd": OPGD(),
    "oadmm": OADMM(),
}
BATCH_ROBUST_SOLVERS: dict[str, Any] = {
    "auto": _auto_batch_robust,
    "bpgd": BPGD(),
    "badmm": BADMM(),
}

# --------------------------------------------------------------------- general divergences (E)

_QUADRATIC = (
    "a quadratic that touches the loss learns fastest wherever one curvature serves all samples of "
    "a feature (docs/guide/divergences.md)"
)
_RATIOS = (
    "features that are often zero, or span decades, have no one curvature for all samples; sums of "
    "ratios are far better there, and slower on other data (docs/guide/divergences.md)"
)
_APPROXIMATE = AutoEncoder(None, candidates=APPROXIMATE)
_UPDATES = AutoEncoder(None, candidates=APPROXIMATE_UPDATES)
_PRIOR = 2.0  # of online ratios (docs/guide/divergences.md)


@dataclass(frozen=True)
class NeedsRatios:
    """Require of the first batch that sums of ratios are the better statistics."""

    power: float

    def __call__(self, batch: Batch) -> str | None:
        """From the values of the batch, however they are stored."""
        if is_mostly_zero(batch) or spans_decades(batch, self.power):
            return None
        return "features that are often zero or span decades"


def _divergence_method(given: Specification, encoder: Encoder) -> Method:
    """The quadratic serves all losses that have no majoriser, and dense data under any."""
    loss = given.loss(1.0)
    return Method(
        encoder=encoder,
        learner=QuadraticLearner(BlockDescent(), sharp=not loss.couples_features),
        keep_sparse=can_stay_sparse(loss, given.code_regulariser),
        keep_stored=given.only_stored,
        **given.parts(),
    )


def _lacks_majoriser(loss: Loss, atoms: Regulariser) -> str | None:
    """Why sums of ratios cannot stand for a loss and a set; None if they can.

    Where curvature is bounded, squares serve better.
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
    """Ratios where the first batch asks for them; α-divergences start by k-means++."""
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


def _auto_online_divergence(given: Specification) -> Candidates[Method]:
    method = _divergence_method(replace(given, forgetting=_forgetting(given)), _APPROXIMATE)
    quadratic = Candidate("quadratic", _averaged(method), _QUADRATIC)
    if _lacks_majoriser(method.loss(1.0), method.dictionary_regulariser) is not None:
        return (quadratic,)
    encoder, forgetting = _UPDATES, _forgetting(given, _FORGETTING_RATIOS)
    ratios = _ratios(method, _PRIOR, encoder=encoder, forgetting=forgetting)
    return _by_first_batch(Candidate("ratios", ratios, _RATIOS), quadratic)


def _auto_batch_divergence(given: Specification) -> Candidates[Method]:
    """Whatever streams first, the alternation takes ratios where it can: it never rises."""
    method = _divergence_method(given, AutoEncoder(1e-3, 100))
    quadratic = Candidate("quadratic", method, _QUADRATIC, warm_start=_streaming(method))
    if _lacks_majoriser(method.loss(1.0), method.dictionary_regulariser) is not None:
        return (quadratic,)
    ratios = _ratios(method, 0.0)
    # Near-exact codes commit atoms too early; what learns well online learns well here.
    encoder, forgetting = _UPDATES, _FORGETTING_RATIOS
    streaming = _ratios(method, _PRIOR, encoder=encoder, forgetting=forgetting)
    first = Candidate("ratios", ratios, _RATIOS, warm_start=streaming)
    return _by_first_batch(first, replace(quadratic, method=ratios))


ONLINE_DIVERGENCE_SOLVERS: dict[str, Any] = {
    "auto": _auto_online_divergence,
    "spsgd": SPSGD(),
    "ol_guan": OLGuan(),
    "ol_lef": OLLef(),
    "ol_wang": OLWang(),
}
BATCH_DIVERGENCE_SOLVERS: dict[str, Any] = {
    "auto": _auto_batch_divergence,
    "mu": MU(),
    "sparse_coding": SparseCoding(),
}

# ------------------------------------------------------------------------ ℓ1 dictionaries (B)

_SEPARABLE = (
    "words occur with few atoms, so that curvatures differ from atom to atom; one for all of them "
    "makes steps that overshoot (docs/lab/l1_dictionary.md)"
)


def _mostly_zero(batch: Batch) -> str | None:
    return None if is_mostly_zero(batch) else "samples whose entries are mostly zero"


def _in_random_order(batch: Batch) -> str | None:
    # In the order of time new words come, and they are followed faster by steps that overshoot
    # (measured: docs/lab/l1_dictionary.md).
    return "samples in random order"


def _auto_l1(given: Specification, quadratic: Candidate[Method]) -> Candidates[Method]:
    """Separable quadratics for documents in random order, else those of divergences."""
    before, learner = quadratic.warm_start, DiagonalLearner()
    separable = Candidate(
        "separable",
        replace(quadratic.method, learner=learner),
        _SEPARABLE,
        _in_random_order if given.in_order else _mostly_zero,
        None if before is None else replace(before, learner=learner),
    )
    return separable, quadratic


def _auto_online_l1(given: Specification) -> Candidates[Method]:
    known = replace(given, forgetting=_forgetting(given))
    method = _averaged(_divergence_method(known, AutoEncoder(1e-3, 100)))
    return _auto_l1(given, Candidate("quadratic", method, _QUADRATIC))


def _auto_batch_l1(given: Specification) -> Candidates[Method]:
    method = _divergence_method(given, AutoEncoder(1e-3, 100))
    quadratic = Candidate("quadratic", method, _QUADRATIC, warm_start=_streaming(method))
    return _auto_l1(replace(given, in_order=False), quadratic)


ONLINE_L1_SOLVERS: dict[str, Any] = {"auto": _auto_online_l1, "oiadmm": OIADMM()}
BATCH_L1_SOLVERS: dict[str, Any] = {"auto": _auto_batch_l1, "admm": ADMM()}

# -------------------------------------------------------------------------- Manhattan NMF (C)

_FACTORS = (
    "both factors stay in memory; ADMM on both finds the neighbourhood of a good optimum in a few "
    "iterations, and sweeps finish, or exact rows for large sparse data (docs/lab/manhattan.md)"
)
_ADMM_TOL = 5.0  # of ADMM, in units of ``tol``; heuristic
_DEFAULT_TOL = 1e-4  # stands for a ``tol`` of 0, at which ADMM would not end


def _best_half(half: Half) -> HalfSolver:
    # Small sparse data are expanded quickly, and sweeps know every weight.
    large = half.samples.shape[0] * half.samples.shape[1] > LARGE
    if large and half.is_sparse and ExactRows().requires(half) is None:
        return ExactRows()
    if RankOneSweeps().requires(half) is None:
        return RankOneSweeps()
    return NesterovSmoothing()


def _auto_manhattan(given: FactorSpecification) -> Candidates[Method]:
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
        """One sweep over H, in place."""
        manhattan_sweep(X, H)

    def absolute_tol(self, X: Any) -> float | None:
        """None: ``tol`` is relative."""
        return None


MANHATTAN_SOLVERS: dict[str, Any] = {"auto": _auto_manhattan, "rri": RRI(), "ogm": OGM()}
SYMMETRIC_SOLVERS: dict[str, Any] = {"auto": RowSweeps(), "symmetric_rri": SymmetricRRI()}

# ----------------------------------------------------------------- orthogonal dictionaries (D)


class BestOrthogonal:
    """The refined learner, or the tracked one where data drift."""

    powers = (3,)

    def learner(self, p: int, drifts: bool) -> OrthogonalLearner:
        """The learner of the ℓ3 norm."""
        return TrackedLearner() if drifts else RefinedLearner()


ORTHOGONAL_SOLVERS: dict[str, Any] = {
    "auto": BestOrthogonal(),
    "noncvx_sfw": NoncvxSFW(),
    "sfw": SFW(),
    "aodl": AODL(),
}

_TABLES = (
    *(ONLINE_ROBUST_SOLVERS, BATCH_ROBUST_SOLVERS, ONLINE_L1_SOLVERS, BATCH_L1_SOLVERS),
    *(MANHATTAN_SOLVERS, SYMMETRIC_SOLVERS, ORTHOGONAL_SOLVERS),
    *(ONLINE_DIVERGENCE_SOLVERS, BATCH_DIVERGENCE_SOLVERS),
)
PUBLISHED: dict[str, type[Published]] = {
    solver.name: type(solver)
    for table in (*_TABLES, {"online": Online(), "batch_impl": BatchImpl(), "l2_batch": L2Batch()})
    for solver in table.values()
    if isinstance(solver, Published)
}
"""Every published solver and mode, by its name."""

__all__ = [
    "BATCH_DIVERGENCE_SOLVERS",
    "BATCH_L1_SOLVERS",
    "BATCH_ROBUST_SOLVERS",
    "DUAL_PER_PRIMAL",
    "MANHATTAN_SOLVERS",
    "ONLINE_DIVERGENCE_SOLVERS",
    "ONLINE_L1_SOLVERS",
    "ONLINE_ROBUST_SOLVERS",
    "ORTHOGONAL_SOLVERS",
    "PUBLISHED",
    "SYMMETRIC_SOLVERS",
    "Published",
    "admm",
    "aodl",
    "badmm",
    "batch_impl",
    "bpgd",
    "default_weight",
    "godec",
    "l2_batch",
    "mu",
    "name_of",
    "named_solver",
    "noncvx_sfw",
    "oadmm",
    "ogm",
    "oiadmm",
    "ol_guan",
    "ol_lef",
    "ol_wang",
    "online",
    "online_pca",
    "opgd",
    "pursue",
    "rri",
    "sfw",
    "sparse_coding",
    "spsgd",
    "symmetric_rri",
    "whole_matrix",
]
