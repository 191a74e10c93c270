"""Names and what they stand for: the only place where strings become parts."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.engine import Detector, MannWhitneyDrift
from thresher.estimators.parameters import is_number
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

OUTLIER_PENALTIES: dict[str, Callable[[], Penalty]] = {
    "l1": lambda: L1(1.0),
    "l21": lambda: GroupLasso(1.0),
}


@dataclass(frozen=True)
class Divergence:
    """What a divergence's name stands for.

    ``loss`` makes the loss from the threshold that the rule ``threshold`` gives, and
    ``dictionary_loss`` the one that the learner sees, if it is another.
    """

    loss: Callable[[float], Loss]
    threshold: OutlierWeight = field(default_factory=lambda: FixedWeight(1.0))
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


def _unknown(parameter: str, value: object, names: Any) -> ValueError:
    known = ", ".join(repr(name) for name in names)
    return ValueError(f"{parameter}={value!r} is not known; use one of {known}, or a part.")


def named_divergence(value: Any, parameter: Any) -> Divergence:
    """A divergence from its name and its parameter, or from a loss."""
    if isinstance(value, str) and value == "huber":
        return _huber(parameter)
    if isinstance(value, str) and value in PARAMETRIC_DIVERGENCES:
        make, what = PARAMETRIC_DIVERGENCES[value]
        if parameter is None:
            raise ValueError(f"divergence={value!r} needs divergence_parameter: {what}.")
        loss = make(parameter)
    elif isinstance(value, str) and value in DIVERGENCES:
        loss = DIVERGENCES[value]()
        _refuse_parameter(value, parameter)
    elif isinstance(value, Loss):
        loss = value
        _refuse_parameter(value, parameter)
    else:
        known = (*DIVERGENCES, "huber", *PARAMETRIC_DIVERGENCES)
        raise _unknown("divergence", value, known)
    if loss.smooth:
        return Divergence(lambda _: loss)
    return Divergence(lambda _: loss, NoiseWeight(_ROUNDING), loss.smoothed)


def _huber(parameter: Any) -> Divergence:
    if parameter is not None and not (is_number(parameter) and parameter > 0):
        raise ValueError(
            f"divergence_parameter={parameter!r}: the threshold of 'huber' must be a positive "
            "number, in units of the data."
        )
    rule = NoiseWeight() if parameter is None else FixedWeight(float(parameter))
    return Divergence(Huber, rule)


def _refuse_parameter(divergence: Any, parameter: Any) -> None:
    if parameter is not None:
        raise ValueError(
            f"divergence_parameter={parameter!r}: divergence={divergence!r} takes no parameter; "
            "leave it out."
        )


def named_set(parameter: str, value: str | ConvexSet) -> ConvexSet:
    """A set from its name."""
    if isinstance(value, ConvexSet):
        return value
    if isinstance(value, str) and value in SETS:
        return SETS[value]()
    raise _unknown(parameter, value, ("auto", *SETS) if parameter == "dictionary_set" else SETS)


def named_penalty(parameter: str, value: float | Penalty | None) -> Penalty:
    """None is no penalty, a number the weight of an ℓ1 penalty."""
    if value is None:
        return ElasticNet()
    if isinstance(value, Penalty):
        return value
    if is_number(value) and value >= 0:
        return L1(float(value))
    raise ValueError(
        f"{parameter}={value!r} is not a penalty; use None, a number of at least 0 (the weight of "
        "an ℓ1 penalty), or a part such as thresher.penalties.ElasticNet(0.1, 0.1)."
    )


def named_regulariser(
    kind: str, region: str | ConvexSet, penalty: float | Penalty | None
) -> Regulariser:
    """Set and penalty of codes or of a dictionary."""
    return Regulariser(named_penalty(f"{kind}_penalty", penalty), named_set(f"{kind}_set", region))


def named_codes(region: str | ConvexSet, penalty: float | Penalty | None) -> Regulariser:
    """Set and penalty of codes that are found sample by sample."""
    codes = named_regulariser("code", region, penalty)
    if codes.form.couples_rows:
        raise ValueError(
            f"{codes.penalty} on {codes.region} ties the codes of several samples together, and "
            "samples are coded one by one here; use a set of single rows such as 'simplex' or "
            "'l2_ball', or ManhattanNMF, which keeps all codes in memory."
        )
    return codes


def named_dictionary_set(value: str | ConvexSet | None) -> ConvexSet | None:
    """A set of atoms; ``auto`` (or None) leaves it to the solver."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return None
    return named_set("dictionary_set", value)


def named_forgetting(value: Any) -> Forgetting | None:
    """Take ``auto``, which leaves it to the solver, None, a half-life in samples, or a schedule."""
    if isinstance(value, str) and value == "auto":
        return None
    if value is None:
        return PlainAverage()
    if is_number(value) and value > 0:
        return HalfLife(float(value))
    if isinstance(value, PlainAverage | PowerForgetting | HalfLife):
        return value
    if callable(value) and not isinstance(value, type):
        return CustomForgetting(value)
    raise ValueError(
        f"forgetting={value!r} is not known; use 'auto', None for the plain average, a positive "
        "half-life in samples, or a function of (samples in the batch, samples seen)."
    )


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


def named_half_life(value: Any) -> HalfLife | None:
    """Take ``auto`` or None (streams that do not change), or a half-life in samples."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return None
    if isinstance(value, HalfLife):
        return value
    if is_number(value) and value > 0:
        return HalfLife(float(value))
    raise ValueError(
        f"forgetting={value!r} is not known; use 'auto' or None for streams that do not change, or "
        "a positive half-life in samples."
    )


def named_outlier_weight(value: Any) -> OutlierWeight:
    """Take ``auto`` (from the range), ``mad`` (from the noise), or a number."""
    if isinstance(value, str) and value == "auto":
        return RangeWeight()
    if isinstance(value, str) and value == "mad":
        return NoiseWeight()
    if is_number(value) and value > 0:
        return FixedWeight(float(value))
    raise ValueError(
        f"outlier_weight={value!r} is not known; use 'auto', 'mad', or a positive number in the "
        "units of the data."
    )


def named_signed_weight(value: Any) -> OutlierWeight:
    """The same for signed data, of which many may be gross errors: ``auto`` is from the median."""
    return RangeWeight(0.5) if value == "auto" else named_outlier_weight(value)


def named_positive(name: str, value: Any, usual: float | None) -> float | None:
    """Take a positive number, or ``auto``, which is the usual one."""
    if isinstance(value, str) and value == "auto":
        return usual
    if is_number(value) and value > 0:
        return float(value)
    raise ValueError(f"{name}={value!r} must be a positive number, or 'auto'.")


def named_loss(penalty: Any, sign: str, bound: float | None) -> Callable[[float], Loss]:
    """How the loss follows from λ: the envelope of ``λ·penalty`` on the outliers' box."""
    if isinstance(penalty, str) and penalty in OUTLIER_PENALTIES:
        shape = OUTLIER_PENALTIES[penalty]()
    elif isinstance(penalty, Penalty):
        shape = penalty
    else:
        raise _unknown("outlier_penalty", penalty, OUTLIER_PENALTIES)
    if not isinstance(sign, str) or sign not in ("free", "nonnegative"):
        raise _unknown("outlier_sign", sign, ("free", "nonnegative"))
    limit = np.inf if bound is None else float(bound)
    box = Box(0.0 if sign == "nonnegative" else -limit, limit)
    envelope = Envelope(shape, box)
    return lambda weight: replace(envelope, penalty=shape.scaled(weight))


def named_scaling(value: Any) -> bool:
    """Whether samples are divided by their largest entries, ``max``, or taken as they are, None."""
    if value is not None and not (isinstance(value, str) and value == "max"):
        raise ValueError(f"scale_samples={value!r} must be None or 'max'.")
    return value is not None


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
