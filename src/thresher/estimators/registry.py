"""Names and what they stand for: the only place where strings become parts."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Hidden, StrOptions

from thresher.engine import Detector, MannWhitneyDrift
from thresher.estimators.parameters import NONNEGATIVE, POSITIVE, Function, is_number
from thresher.learning import (
    CustomForgetting,
    FixedWeight,
    Forgetting,
    HalfLife,
    NoiseWeight,
    OutlierWeight,
    PlainAverage,
    PowerForgetting,
    RangeWeight,
)
from thresher.losses import (
    AlphaDivergence,
    BetaDivergence,
    Envelope,
    Hellinger,
    Huber,
    ItakuraSaito,
    KullbackLeibler,
    L1Distance,
    L2Distance,
    Loss,
    Mahalanobis,
    SquaredL2,
)
from thresher.manhattan import Graph, nearest_neighbours, similarities
from thresher.penalties import L1, ElasticNet, GroupLasso, Penalty, Regulariser
from thresher.sets import (
    Box,
    ConvexSet,
    CoveredBox,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    NonnegativeOrthant,
    Simplex,
)

SETS: dict[str, Callable[[], ConvexSet]] = {
    "nonnegative": NonnegativeOrthant,
    "l2_ball": NonnegativeL2Ball,
    "l1_ball": NonnegativeL1Ball,
    "simplex": Simplex,
    "elastic_net_ball": NonnegativeElasticNetBall,
    "box": Box,
    "covered_box": CoveredBox,
}

OUTLIER_PENALTIES: dict[str, Penalty] = {"l1": L1(1.0), "l21": GroupLasso(1.0)}


class LossTerms(NamedTuple):
    """The loss as the name of a divergence or of an outlier penalty gives it.

    ``loss`` makes the loss from the value that the rule ``outlier_weight`` gives, and
    ``dictionary_loss`` the one that the learner sees, if it is another.
    """

    loss: Callable[[float], Loss]
    outlier_weight: OutlierWeight = FixedWeight(1.0)
    dictionary_loss: Callable[[float], Loss] | None = None


DIVERGENCES: dict[str, Callable[[], Loss]] = {
    "squared_l2": SquaredL2,
    "kl": KullbackLeibler,
    "is": ItakuraSaito,
    "hellinger": Hellinger,
    "l1": L1Distance,
    "l2": L2Distance,
}

PARAMETRIC_DIVERGENCES: dict[str, tuple[Callable[[Any], Loss], str]] = {
    "alpha": (AlphaDivergence, "its α, such as 0.5"),
    "beta": (BetaDivergence, "its β, such as 1.5"),
    "mahalanobis": (Mahalanobis, "a positive definite matrix"),
}

# Rounding off at half of the noise's standard deviation changes the ℓ1 optimum little, and
# leaves enough curvature to step by (docs/guide/divergences.md).
_ROUNDING = 0.5


INITS = {
    "auto": None,
    "mean": "mean",
    "medians": "medians",
    "samples": "samples",
    "random": "uniform",
    "uniform": "uniform",
    "half-normal": "half-normal",
    "k-means++": "k-means++",
}


# ----------------------------------------------------------------------- allowed values

SET = [StrOptions(set(SETS)), ConvexSet]
DICTIONARY_SET = [StrOptions({"auto", *SETS}), ConvexSet, None]
PENALTY = [NONNEGATIVE, Penalty, None]
OUTLIER_PENALTY = [StrOptions(set(OUTLIER_PENALTIES)), Penalty]
OUTLIER_WEIGHT = [StrOptions({"auto", "mad"}), POSITIVE]
INIT = [StrOptions(set(INITS)), "array-like"]
_SCHEDULES = (PlainAverage, PowerForgetting, HalfLife)
FORGETTING = [StrOptions({"auto"}), POSITIVE, None, Function(), *map(Hidden, _SCHEDULES)]
HALF_LIFE = [StrOptions({"auto"}), POSITIVE, None, Hidden(HalfLife)]


# ------------------------------------------------------------------ what they stand for


def named_divergence(value: Any, parameter: Any) -> LossTerms:
    """Return the loss of a divergence, from its name and its parameter, or from a loss."""
    is_name = isinstance(value, str)
    if is_name and value == "huber":
        if parameter is None:
            return LossTerms(Huber, NoiseWeight())
        if not (is_number(parameter) and parameter > 0):
            raise ValueError(
                f"divergence_parameter={parameter!r}: the threshold of 'huber' must be a positive "
                "number, in units of the data."
            )
        return LossTerms(Huber, FixedWeight(float(parameter)))
    if is_name and value in PARAMETRIC_DIVERGENCES:
        make, what = PARAMETRIC_DIVERGENCES[value]
        if parameter is None:
            raise ValueError(f"divergence={value!r} needs divergence_parameter: {what}.")
        loss = make(parameter)
    elif isinstance(value, Loss) or (is_name and value in DIVERGENCES):
        if parameter is not None:
            raise ValueError(
                f"divergence_parameter={parameter!r}: divergence={value!r} takes no parameter; "
                "leave it out."
            )
        loss = value if isinstance(value, Loss) else DIVERGENCES[value]()
    else:
        known = ", ".join(map(repr, (*DIVERGENCES, "huber", *PARAMETRIC_DIVERGENCES)))
        raise ValueError(f"divergence={value!r} is not known; use one of {known}, or a loss.")
    if loss.smooth:
        return LossTerms(lambda _: loss)
    return LossTerms(lambda _: loss, NoiseWeight(_ROUNDING), loss.smoothed)


def named_loss(given: str | Penalty, sign: str, bound: float | None) -> Callable[[float], Loss]:
    """Return how the loss follows from λ: the envelope of ``λ·penalty`` on the outliers' box."""
    penalty = given if isinstance(given, Penalty) else OUTLIER_PENALTIES[given]
    limit = np.inf if bound is None else float(bound)
    envelope = Envelope(penalty, Box(0.0 if sign == "nonnegative" else -limit, limit))
    return lambda weight: replace(envelope, penalty=penalty.scaled(weight))


def named_set(value: str | ConvexSet) -> ConvexSet:
    """Return a set from its name."""
    return value if isinstance(value, ConvexSet) else SETS[value]()


def named_dictionary_set(value: str | ConvexSet | None) -> ConvexSet | None:
    """Return a set of atoms; ``auto`` (or None) leaves it to the solver."""
    return None if value is None or value == "auto" else named_set(value)


def named_penalty(value: float | Penalty | None) -> Penalty:
    """Return a penalty: none for None, of a number the ℓ1 penalty with this weight."""
    if isinstance(value, Penalty):
        return value
    return ElasticNet() if value is None else L1(float(value))


def named_codes(region: str | ConvexSet, penalty: float | Penalty | None) -> Regulariser:
    """Return set and penalty of codes that are found sample by sample."""
    codes = Regulariser(named_penalty(penalty), named_set(region))
    if codes.form.couples_rows:
        raise ValueError(
            f"{codes.penalty} on {codes.region} ties the codes of several samples together, and "
            "samples are coded one by one here; use a set of single rows such as 'simplex' or "
            "'l2_ball', or ManhattanNMF, which keeps all codes in memory."
        )
    return codes


def named_forgetting(value: Any) -> Forgetting | None:
    """Return a schedule; ``auto`` leaves it to the solver, None is the plain average."""
    if isinstance(value, str):
        return None
    if value is None or isinstance(value, _SCHEDULES):
        return value or PlainAverage()
    return HalfLife(float(value)) if is_number(value) else CustomForgetting(value)


def named_outlier_weight(value: str | float) -> OutlierWeight:
    """Return the rule for λ: from the range, ``auto``; from the noise, ``mad``; or a number."""
    if isinstance(value, str):
        return RangeWeight() if value == "auto" else NoiseWeight()
    return FixedWeight(float(value))


def named_detector(value: Any) -> Detector | None:
    """Take None, ``auto``, or anything with the interface of river's detectors."""
    if value is None:
        return None
    if isinstance(value, str) and value == "auto":
        return MannWhitneyDrift()
    detects = callable(getattr(value, "update", None)) and hasattr(value, "drift_detected")
    if detects and not isinstance(value, type):
        detector: Detector = value
        return detector
    raise ValueError(
        f"drift={value!r} is not known; use None, 'auto', thresher.MannWhitneyDrift(), or an "
        "object with update(x) and drift_detected, such as river's detectors."
    )


def named_graph(value: Any, weight: float, X: Any) -> Graph | None:
    """A graph from its similarities, or of so many nearest neighbours."""
    if value is None:
        return None
    if isinstance(value, Integral) and not isinstance(value, bool):
        if X.shape[0] < 2:
            raise ValueError(
                f"graph={value!r} connects each sample with its nearest neighbours, and there is "
                f"only one sample; give more samples, or graph=None."
            )
        if not 1 <= int(value) < X.shape[0]:
            raise ValueError(
                f"graph must be a number of neighbours from 1 to {X.shape[0] - 1}, one less than "
                f"there are samples; got {value!r}."
            )
        return Graph(nearest_neighbours(X, int(value)), float(weight))
    if getattr(value, "shape", None) != (X.shape[0], X.shape[0]):
        raise ValueError(
            f"graph={value!r} is not known; give a number of neighbours, or a matrix of "
            f"similarities of shape ({X.shape[0]}, {X.shape[0]})."
        )
    return Graph(similarities(value), float(weight))


def frozen_mask(value: Any, n_components: int) -> NDArray[np.bool_] | None:
    """Atoms that never move: indices, or a flag for each atom."""
    if value is None:
        return None
    try:
        chosen = np.asarray(value)
    except ValueError:  # ragged lists
        chosen = np.asarray("ragged")
    if chosen.size == 0:
        return None
    if chosen.dtype == bool and chosen.ndim == 1 and len(chosen) <= n_components:
        # Atoms that grew later are free.
        return np.pad(chosen, (0, n_components - len(chosen)))
    if chosen.ndim == 1 and chosen.dtype.kind in "iu":
        if not 0 <= chosen.min() <= chosen.max() < n_components:
            raise ValueError(
                f"frozen_atoms must name atoms from 0 to {n_components - 1}, got {value!r}."
            )
        mask = np.zeros(n_components, dtype=bool)
        mask[chosen] = True
        return mask
    raise ValueError(
        f"frozen_atoms must be a list of atom numbers or {n_components} flags, got {value!r}."
    )
