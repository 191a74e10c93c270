"""Which learner suits a divergence: quadratics, or sums of ratios."""

from dataclasses import dataclass, replace

from thresher.engine import Candidate, Candidates, Method
from thresher.engine.first_batch import is_mostly_zero, spans_decades
from thresher.learning import BlockDescent, QuadraticLearner, RatioLearner
from thresher.losses import Loss
from thresher.penalties import Constrained
from thresher.streams import Batch


def quadratic_learner(loss: Loss) -> QuadraticLearner:
    """The learner for all losses that have no majoriser, and for dense data under any."""
    return QuadraticLearner(BlockDescent(), sharp=not loss.couples_features)


def ratio_learner(
    loss: Loss, codes: Constrained, prior: float = 0.0, exponent: float | None = None
) -> RatioLearner:
    """The multiplicative step of a divergence; an exponent that is not proven is one.

    The batch loop halves it where the objective would rise.
    """
    a, b = (1.0, 0.0) if loss.powers is None else loss.powers
    if exponent is not None:
        a, b = 1 / exponent, 0.0
    return RatioLearner(a, b, rescale=codes.form.is_scale_invariant, prior=prior)


def refuse_learner(learner: RatioLearner, loss: Loss, atoms: Constrained) -> None:
    """Refuse atoms that a learner cannot learn."""
    reason = learner.requires(loss, atoms.form)
    if reason is not None:
        raise ValueError(
            f"The multiplicative dictionary step needs {reason}, not {atoms.penalty} on "
            f"{atoms.region}."
        )


def lacks_majoriser(loss: Loss, atoms: Constrained) -> str | None:
    """Why sums of ratios cannot stand for a loss and a set; None if they can.

    Where curvature is bounded, squares serve better.
    """
    if loss.powers is None or loss.curvature < float("inf"):
        return "a divergence with a proven majoriser and no bounded curvature"
    return RatioLearner(*loss.powers).requires(loss, atoms.form)


QUADRATIC = (
    "a quadratic that touches the loss learns fastest wherever one curvature serves all samples of "
    "a feature (docs/guide/divergences.md)"
)
RATIOS = (
    "features that are often zero, or span decades, have no one curvature for all samples; sums of "
    "ratios are far better there, and slower on other data (docs/guide/divergences.md)"
)


@dataclass(frozen=True)
class NeedsRatios:
    """What data must be like for sums of ratios to be the better statistics."""

    power: float

    def __call__(self, batch: Batch) -> str | None:
        """From the values of the first batch, however they are stored."""
        if is_mostly_zero(batch) or spans_decades(batch, self.power):
            return None
        return "features that are often zero or span decades"


def with_ratios(
    quadratic: Candidate[Method], ratios: Method, streaming: Method | None = None
) -> Candidates[Method]:
    """The plan of a divergence that has a majoriser: sums of ratios where data ask for them."""
    powers = ratios.loss(1.0).powers
    assert powers is not None
    needs = NeedsRatios(sum(powers))
    ratios = replace(ratios, as_sparse=True)
    streaming = None if streaming is None else replace(streaming, as_sparse=True)
    candidates = Candidate("ratios", ratios, RATIOS, needs, streaming), quadratic
    if ratios.loss(1.0).order is None:
        return candidates
    return tuple(map(_seeded, candidates))


def _seeded(candidate: Candidate[Method]) -> Candidate[Method]:
    """Start α-divergences by k-means++ on dense and sparse samples alike."""
    method, streaming = candidate.method, candidate.warm_start
    return replace(
        candidate,
        method=replace(method, default_init="k-means++"),
        warm_start=None if streaming is None else replace(streaming, default_init="k-means++"),
    )
