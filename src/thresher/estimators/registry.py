"""Names and what they stand for: the only place where strings become parts."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.encoding import (
    BlockADMM,
    BlockEncoder,
    Encoder,
    Never,
    OutlierADMM,
    ProjectedGradient,
    Rough,
    SmallChange,
)
from thresher.learning import (
    BlockDescent,
    DictionaryADMM,
    DictionaryGradient,
    DictionaryStep,
    FixedWeight,
    Forgetting,
    HalfLife,
    NoiseWeight,
    OutlierWeight,
    PlainAverage,
    PowerForgetting,
    RangeWeight,
)
from thresher.losses import Envelope, Loss
from thresher.penalties import L1, Constrained, ElasticNet, GroupLasso, Penalty
from thresher.sets import (
    Box,
    ConvexSet,
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
}

OUTLIER_PENALTIES: dict[str, Callable[[], Penalty]] = {
    "l1": lambda: L1(1.0),
    "samples": lambda: GroupLasso(1.0),
}


@dataclass(frozen=True)
class Solver:
    """What a solver's name stands for: how it finds codes while learning, and moves atoms."""

    description: str
    encoder: BlockEncoder
    step: DictionaryStep


_UNTIL_SMALL_CHANGE = SmallChange(1e-3)  # paper A, VII-B2

ONLINE_ROBUST_SOLVERS = {
    "auto": Solver(
        "block ADMM codes, block coordinate descent dictionary",
        Encoder(BlockADMM(), Rough(), 4, certify=False),
        BlockDescent(),
    ),
    "opgd": Solver(
        "projected gradient codes and dictionary (paper A, OPGD)",
        Encoder(ProjectedGradient(), _UNTIL_SMALL_CHANGE, 50, certify=False),
        DictionaryGradient(),
    ),
    "oadmm": Solver(
        "ADMM codes and dictionary (paper A, OADMM)",
        Encoder(OutlierADMM(), _UNTIL_SMALL_CHANGE, 50, certify=False),
        DictionaryADMM(),
    ),
}

_SIX_ROUNDS = Encoder(BlockADMM(), Never(), 6, certify=False)

BATCH_ROBUST_SOLVERS = {
    "auto": Solver(
        "block ADMM codes, block coordinate descent dictionary", _SIX_ROUNDS, BlockDescent()
    ),
    "bpgd": Solver(
        "one projected gradient step for codes and dictionary (paper A, BPGD)",
        Encoder(ProjectedGradient(), Never(), 1, certify=False),
        DictionaryGradient(max_iter=1),
    ),
    # Its steps are its own (engine/batch.py); the encoder serves `transform` and the noise level.
    "badmm": Solver(
        "ADMM on codes, outliers and dictionary together (paper A, BADMM)",
        _SIX_ROUNDS,
        BlockDescent(),
    ),
}

INITS = {
    "samples": "samples",
    "random": "uniform",
    "uniform": "uniform",
    "half-normal": "half-normal",
}

PARTS: dict[str, type] = {
    part.__name__: part
    for part in (
        Box,
        NonnegativeOrthant,
        NonnegativeL2Ball,
        NonnegativeL1Ball,
        NonnegativeElasticNetBall,
        Simplex,
        ElasticNet,
        type(GroupLasso(1.0)),
        PlainAverage,
        PowerForgetting,
        HalfLife,
    )
}
"""Parts that a saved model may contain as parameters."""

# Chosen by measurement, see docs/learner.md. In random order old samples only hold back, as they
# were coded with poorer dictionaries; in the order of time they are what the model must remember.
FORGETTING_SHUFFLED = PowerForgetting(60.0)
AVERAGING_SHUFFLED = 10.0
FORGETTING_IN_ORDER = PowerForgetting(3.0)


def _unknown(parameter: str, value: object, names: Any) -> ValueError:
    known = ", ".join(repr(name) for name in names)
    return ValueError(f"{parameter}={value!r} is not known; use one of {known}, or a part.")


def named_solver(value: str, solvers: dict[str, Solver]) -> Solver:
    """A solver from its name."""
    if value not in solvers:
        *others, last = map(repr, solvers)
        known = f"{', '.join(others)} or {last}"
        raise ValueError(f"solver={value!r} is not known; use {known}.")
    return solvers[value]


def named_set(parameter: str, value: str | ConvexSet) -> ConvexSet:
    """A set from its name."""
    if isinstance(value, ConvexSet):
        return value
    if isinstance(value, str) and value in SETS:
        return SETS[value]()
    raise _unknown(parameter, value, SETS)


def named_penalty(parameter: str, value: float | Penalty | None) -> Penalty:
    """None is no penalty, a number the weight of an ℓ1 penalty."""
    if value is None:
        return ElasticNet()
    if isinstance(value, Penalty):
        return value
    if isinstance(value, Real) and not isinstance(value, bool):
        return L1(float(value))
    raise ValueError(
        f"{parameter}={value!r} is not a penalty; use None, a number (the weight of an ℓ1 "
        "penalty), or a part such as thresher.penalties.ElasticNet(0.1, 0.1)."
    )


def named_regulariser(
    kind: str, region: str | ConvexSet, penalty: float | Penalty | None
) -> Constrained:
    """Set and penalty of codes or of a dictionary."""
    return Constrained(named_penalty(f"{kind}_penalty", penalty), named_set(f"{kind}_set", region))


def named_forgetting(value: Any, in_order: bool) -> Forgetting:
    """Take ``auto``, None (the plain average), a half-life in samples, or a schedule."""
    if isinstance(value, str) and value == "auto":
        return FORGETTING_IN_ORDER if in_order else FORGETTING_SHUFFLED
    if value is None:
        return PlainAverage()
    if isinstance(value, Real) and not isinstance(value, bool):
        return HalfLife(float(value))
    if callable(value):
        return value
    raise ValueError(
        f"forgetting={value!r} is not known; use 'auto', None for the plain average, a half-life "
        "in samples, or a function of (samples in the batch, samples seen)."
    )


def named_outlier_weight(value: Any) -> OutlierWeight:
    """Take ``auto`` (from the range), ``mad`` (from the noise), or a number."""
    if isinstance(value, str) and value == "auto":
        return RangeWeight()
    if isinstance(value, str) and value == "mad":
        return NoiseWeight()
    if isinstance(value, Real) and not isinstance(value, bool) and float(value) > 0:
        return FixedWeight(float(value))
    raise ValueError(
        f"outlier_weight={value!r} is not known; use 'auto', 'mad', or a positive number in the "
        "units of the data."
    )


def named_loss(penalty: Any, sign: str, bound: float | None) -> Callable[[float], Loss]:
    """How the loss follows from λ: the envelope of ``λ·penalty`` on the outliers' box."""
    if isinstance(penalty, str) and penalty in OUTLIER_PENALTIES:
        shape = OUTLIER_PENALTIES[penalty]()
    elif isinstance(penalty, Penalty):
        shape = penalty
    else:
        raise _unknown("outlier_penalty", penalty, OUTLIER_PENALTIES)
    if sign not in ("free", "nonnegative"):
        raise _unknown("outlier_sign", sign, ("free", "nonnegative"))
    limit = np.inf if bound is None else float(bound)
    if not limit > 0:
        raise ValueError(f"outlier_bound={bound!r} must be positive, or None for no bound.")
    box = Box(0.0 if sign == "nonnegative" else -limit, limit)
    return lambda weight: Envelope(shape.scaled(weight), box)


def frozen_mask(value: Any, n_components: int) -> NDArray[np.bool_] | None:
    """Atoms that never move: indices, or a flag for each atom."""
    if value is None or np.size(value) == 0:
        return None
    chosen = np.asarray(value)
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
