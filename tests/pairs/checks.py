"""What must hold of a model that `fit` accepted, each against the statements in CVXPY."""

import tempfile
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import statements
from fuzz import oracle
from fuzz.checks import Unchanged, refused_or, same_bits
from pairs.case import Trial, quietly
from pairs.samples import F, K, N
from thresher import load, save
from thresher.estimators import registry
from thresher.losses import ElasticDistance, L1Distance
from thresher.sets import Box, NonnegativeOrthant


@dataclass(frozen=True)
class Precision:
    """What is asked of codes, and what rounding may do."""

    tol: float
    rounding: float
    gap: float
    """Of what the data cost without codes."""


DOUBLE, SINGLE = Precision(1e-6, 1e-6, 1e-4), Precision(1e-4, 1e-4, 5e-3)


@dataclass(frozen=True)
class Fitted:
    """A model of a case, and what is known of it by other means."""

    trial: Trial
    model: Any

    @property
    def precision(self) -> Precision:
        """By the type of the data."""
        return DOUBLE if self.trial.data.exact else SINGLE

    @cached_property
    def D(self) -> Any:  # noqa: N802 - the notation of the papers
        """The dictionary, in double precision."""
        return self.model.components_.astype(np.float64)

    # ------------------------------------------------------- what was asked for

    @cached_property
    def code_set(self) -> Any:
        """Where the codes of single samples lie."""
        region = self._part("code_set", "nonnegative")
        return NonnegativeOrthant() if self._ties_rows() else region

    @cached_property
    def code_penalty(self) -> Any:
        """What they cost."""
        return None if self._ties_rows() else self._penalty("code_penalty")

    def _ties_rows(self) -> bool:
        """What ties the samples of `fit` together does not act on others."""
        parts = (self._part("code_set", "nonnegative"), self._penalty("code_penalty"))
        return any(part is not None and part.couples_rows for part in parts)

    def dictionary_set(self) -> Any:
        """Where atoms lie."""
        region = oracle.dictionary_set(self.model)
        return registry.SETS[region]() if isinstance(region, str) else region

    def _part(self, slot: str, default: Any) -> Any:
        value = self.trial.parameters.get(slot, default)
        return registry.SETS[value]() if isinstance(value, str) else value

    def _penalty(self, slot: str) -> Any:
        value = self.model.get_params().get(slot)
        return registry.named_penalty(value) if value is not None else None

    # ----------------------------------------------------------- what it comes to

    def losses(self, Y: Any) -> tuple[Any, list[Any]]:
        """Loss of every row against predictions, and the constraints of what it has of its own."""
        data, model, asked = self.trial.data, self.model, self.trial.parameters
        if "outlier_penalty" in asked:
            bound = asked["outlier_bound"]
            bound = np.inf if bound is None else bound
            box = Box(0.0 if asked["outlier_sign"] == "nonnegative" else -bound, bound)
            penalty = asked["outlier_penalty"]
            if isinstance(penalty, str):
                penalty = registry.OUTLIER_PENALTIES[penalty]
            weight = model.outlier_weight_
            return statements.outlier_losses(weight, penalty, box, data.numbers, Y, data.W)
        if "divergence" in asked:
            loss = model.loss_
        elif asked.get("square_weight"):
            loss = ElasticDistance(asked["square_weight"], asked["zero_weight"])
        else:
            loss = L1Distance(asked["zero_weight"])
        return statements.losses(loss, data.numbers, Y, data.W)

    def costs(self, C: Any) -> tuple[Any, Any]:
        """Loss of every row at codes, and what these codes cost."""
        losses = statements.value(*self.losses(cp.Constant(C @ self.D)))
        return losses, statements.value(self.prices(cp.Constant(C)))

    def prices(self, C: Any) -> Any:
        """What the codes of every row cost, as an expression."""
        if self.code_penalty is None:
            return cp.Constant(np.zeros(C.shape[0]))
        return statements.prices(self.code_penalty, C)

    @cached_property
    def unit(self) -> Any:
        """What every row costs if next to nothing is predicted."""
        nearly_nothing = cp.Constant(np.full((N, F), 1e-3))
        return np.abs(statements.value(*self.losses(nearly_nothing))) + 1e-9


def coded(fitted: Fitted) -> tuple[Any, bool]:
    """Codes of the data, and whether a warning says that some are not exact."""
    data = fitted.trial.data
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        C = fitted.model.transform(data.X, **data.weights)
    wrong = [w for w in caught if issubclass(w.category, RuntimeWarning)]
    assert not wrong, f"transform warns: {wrong[0].message}"
    return C, any(issubclass(w.category, ConvergenceWarning) for w in caught)


def check(fitted: Fitted) -> str:
    """All of them; in a word, how the codes ended."""
    model, data = fitted.model, fitted.trial.data
    model.set_params(code_tol=fitted.precision.tol, code_max_iter=1000)
    with Unchanged(model):
        C, unfinished = coded(fitted)
        atoms_are_feasible(fitted)
        codes_are_feasible(fitted, C)
        scores_are_what_codes_cost(fitted, C.astype(np.float64))
        certified = certificates_are_honest(fitted, C, unfinished)
        best = codes_are_optimal(fitted, C.astype(np.float64), unfinished)
        files_keep_everything(model, data)
    interrupted_fits_resume(fitted.trial)
    return ", ".join([best, certified])


def atoms_are_feasible(fitted: Fitted) -> None:
    """The dictionary lies in its set."""
    D, region = fitted.D, fitted.dictionary_set()
    assert D.shape == (K, F), f"Atoms have the shape {D.shape}."
    assert np.isfinite(D).all(), "Atoms are not finite."
    far = statements.outside(region, D)
    allowed = fitted.precision.rounding * max(1.0, np.abs(D).max())
    assert far <= allowed, f"Atoms lie {far:.2g} outside of {region!r}."


def codes_are_feasible(fitted: Fitted, C: Any) -> None:
    """Codes lie in theirs, in the type of the data."""
    assert C.dtype == fitted.trial.data.X.dtype, f"Codes are of the type {C.dtype}."
    assert np.isfinite(C).all(), "Codes are not finite."
    far = statements.outside(fitted.code_set, C)
    allowed = fitted.precision.rounding * max(1.0, np.abs(C).max())
    assert far <= allowed, f"Codes lie {far:.2g} outside of {fitted.code_set!r}."


def scores_are_what_codes_cost(fitted: Fitted, C: Any) -> None:
    """`objective_samples` is the loss and the price of the codes, scores are minus the loss."""
    model, data = fitted.model, fitted.trial.data
    losses, prices = fitted.costs(C)
    allowed = fitted.precision.rounding * (fitted.unit + losses + prices)
    objective = quietly(lambda: model.objective_samples(data.X, **data.weights))
    scores = quietly(lambda: model.score_samples(data.X, **data.weights))
    charged = losses + prices if isinstance(model, oracle.L1_MODELS[1:]) else losses
    for what, got, expected in (
        ("An objective", objective, losses + prices),
        ("A score", -scores, charged),
    ):
        worst = int(np.argmax(np.abs(got - expected) / allowed))
        assert np.abs(got - expected)[worst] <= allowed[worst], (
            f"{what} is {got[worst]:.8g}, but codes cost {expected[worst]:.8g}."
        )


def certificates_are_honest(fitted: Fitted, C: Any, unfinished: bool) -> str:
    """Small where no warning came, and not small for codes that are clearly worse."""
    model, data, tol = fitted.model, fitted.trial.data, fitted.precision.tol
    certificates = model.certificates(data.X, C, **data.weights)
    if np.isnan(certificates).any():
        return "no certificate"
    worst = float(certificates.max())
    assert unfinished or worst <= 1.01 * tol, f"No warning, but a certificate of {worst:.2g}."
    best = sum(fitted.costs(C.astype(np.float64)))
    rng = np.random.default_rng(fitted.trial.seed)
    for _ in range(2):
        other = (C * rng.uniform(0.5, 1.5, C.shape)).astype(C.dtype)
        if isinstance(fitted.code_set, NonnegativeOrthant):
            feasible = other
        else:
            feasible = fitted.code_set.project(other)
        worse = (sum(fitted.costs(feasible.astype(np.float64))) - best) > 0.01 * fitted.unit
        told = model.certificates(data.X, feasible, **data.weights)
        assert (told[worse] > tol).all(), "Codes that are 1 % off have a small certificate."
    return "unfinished" if unfinished else "certified"


def codes_are_optimal(fitted: Fitted, C: Any, unfinished: bool) -> str:
    """No interior-point solver finds better ones; without convexity, they are critical."""
    variable = cp.Variable(C.shape)
    losses, own = fitted.losses(variable @ fitted.D)
    objective = cp.sum(losses) + cp.sum(fitted.prices(variable))
    within = [*statements.constraints(fitted.code_set, variable), *own]
    allowed = fitted.precision.gap
    if unfinished:  # as far off as the warning and the certificates say
        told = fitted.model.certificates(
            fitted.trial.data.X, C.astype(fitted.trial.data.X.dtype), **fitted.trial.data.weights
        )
        allowed = max(1e-2, float(np.nan_to_num(told).max()))
    total = float(sum(fitted.costs(C)).sum())
    unit = float(fitted.unit.sum())
    if cp.Problem(cp.Minimize(objective), within).is_dcp():
        gap = (total - statements.solve(objective, within)) / unit
        assert gap >= -10 * DOUBLE.gap, f"Codes are {-gap:.2g} better than the optimum: restate it."
        assert gap <= allowed, f"Codes are {gap:.2g} above the optimum."
        return "optimal"
    gap = _slope(fitted, C) / unit
    assert gap <= 10 * allowed, f"Codes are not critical: a small step gains {gap:.2g} of it."
    return "critical"


def _slope(fitted: Fitted, C: Any) -> float:
    """What the steepest feasible direction gains, at first order, for codes of their own size.

    The slope of the loss is linear in the direction, the price is what it is.
    """
    # Small beside the least prediction of a row, too: some losses bend sharply near zero.
    Y = np.abs(C @ fitted.D) + statements.floors(fitted.trial.data.numbers, fitted.trial.data.W)
    most = 1e-3 * Y.min(axis=1) / max(float(np.abs(fitted.D).max()), 1e-9)
    step = np.minimum(1e-6 * max(1.0, float(np.abs(C).max())), most)
    least = 0.0 if fitted.code_set.nonnegative else -np.inf
    G = np.zeros_like(C)
    for k in range(C.shape[1]):
        moved = np.zeros_like(C)
        moved[:, k] = step
        back = np.maximum(C - moved, least)
        ahead = statements.value(*fitted.losses(cp.Constant((C + moved) @ fitted.D)))
        behind = statements.value(*fitted.losses(cp.Constant(back @ fitted.D)))
        G[:, k] = (ahead - behind) / (step + (C - back)[:, k])
    reach = 1e-2 * max(1.0, float(np.abs(C).max()))
    variable = cp.Variable(C.shape)
    gain = cp.sum(cp.multiply(G, variable - C)) + cp.sum(fitted.prices(variable))
    near = [cp.abs(variable - C) <= reach]
    before = float(statements.value(fitted.prices(cp.Constant(C))).sum())
    best = statements.solve(gain, [*statements.constraints(fitted.code_set, variable), *near])
    return (before - best) / 1e-2


def files_keep_everything(model: Any, data: Any) -> None:
    """A saved model is itself again, or a sentence says why it cannot be saved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.thresher"
        if refused_or(lambda: save(model, path) or True) is None:
            return
        again = load(path)
    same_bits(again.components_, model.components_, "The loaded dictionary")
    for call in ("transform", "score_samples"):
        results = [
            quietly(lambda m=m: getattr(m, call)(data.X, **data.weights))  # noqa: B023
            for m in (again, model)
        ]
        same_bits(*results, f"{call} of the loaded model")


class _Interrupt:
    """A callback that presses Ctrl-C after some steps."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, step: Any) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def interrupted_fits_resume(trial: Trial) -> None:
    """Interrupted, saved if it can be, loaded and resumed: the bits of the undisturbed run."""
    model = trial.model()
    if not hasattr(model, "resume"):
        return
    whole = trial.fit(clone(model))
    model.set_params(callbacks=[_Interrupt(3)])
    with suppress(KeyboardInterrupt):
        trial.fit(model)
    with tempfile.TemporaryDirectory() as folder, suppress(ValueError):
        save(model.set_params(callbacks=None), Path(folder) / "model.thresher")
        model = load(Path(folder) / "model.thresher")
    model.set_params(callbacks=None)
    quietly(lambda: model.resume(trial.data.X, **trial.data.fit_weights))
    same_bits(model.components_, whole.components_, "The resumed dictionary")
    assert model.n_samples_seen_ == whole.n_samples_seen_, "Another number of samples."
