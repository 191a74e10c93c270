"""What models compute, stated once more and by other means: losses, penalties, sets, optima."""

from typing import Any

import numpy as np
from scipy import optimize

from thresher.estimators import (
    BatchNMF,
    L1Dictionary,
    ManhattanNMF,
    OnlineL1Dictionary,
    OnlineNMF,
)
from thresher.penalties import ElasticNet
from thresher.sets import (
    Box,
    CoveredBox,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    Simplex,
)

FLOOR = 1e-8  # of the largest entry of a row, where a divergence needs positive numbers
DIVERGENCE_MODELS = (OnlineNMF, BatchNMF)
L1_MODELS = (ManhattanNMF, OnlineL1Dictionary, L1Dictionary)


# ------------------------------------------------------------------------ losses


def _power_divergence(x: Any, y: Any, p: float, degree: float) -> Any:
    """``y^degree φ_p(x/y)`` with ``φ_p(u) = (u^p − 1 − p(u − 1))/(p(p − 1))``."""
    u = x / y
    if p == 1:
        return y**degree * (np.where(u > 0, u * np.log(np.where(u > 0, u, 1)), 0) - u + 1)
    if p == 0:
        return y**degree * (u - 1 - np.log(u))
    return y**degree * (u**p - 1 - p * (u - 1)) / (p * (p - 1))


ALPHA = {"kl": 1.0, "hellinger": 0.5}
BETA = {"is": 0.0}


def entry_losses(model: Any, x: Any, y: Any) -> Any:
    """Of every entry, for models whose loss is a sum over entries; None for others."""
    if isinstance(model, L1_MODELS):
        return np.abs(x - y) * np.where(x == 0, model.zero_weight, 1.0)
    if not isinstance(model, DIVERGENCE_MODELS):
        return _huber(model, x - y) if model.outlier_penalty == "l1" else None
    name, parameter = model.divergence, model.divergence_parameter
    if name == "squared_l2":
        return (x - y) ** 2 / 2
    if name == "l1":
        return np.abs(x - y)
    if name == "huber":
        threshold, e = model.loss_.penalty.l1, np.abs(x - y)
        return np.where(e <= threshold, e**2 / 2, threshold * e - threshold**2 / 2)
    alpha = parameter if name == "alpha" else ALPHA.get(name)
    beta = parameter if name == "beta" else BETA.get(name)
    if alpha is None and beta is None:
        return None
    floor = FLOOR * np.abs(x).max(axis=1, keepdims=True)
    floor = np.where(floor > 0, floor, 1e-300)
    if alpha is not None and alpha > 0:  # zeros cost a multiple of the prediction
        priced = np.where(x > 0, x, 1), np.where(x > 0, y + floor, 1)
        return np.where(x > 0, _power_divergence(*priced, alpha, 1.0), y / alpha)
    if alpha is not None:
        return _power_divergence(x + floor, y + floor, alpha, 1.0)
    if beta >= 2:
        safe = np.maximum(y, floor)
        return np.where(y > 0, _power_divergence(x, safe, beta, beta), x**beta / beta / (beta - 1))
    return _power_divergence(x + floor if beta <= 0 else x, y + floor, beta, beta)


def _huber(model: Any, e: Any) -> Any:
    """``min over r of (e − r)²/2 + λ|r|``, r between bounds."""
    weight = model.outlier_weight_
    bound = np.inf if model.outlier_bound is None else model.outlier_bound
    r = np.clip(np.sign(e) * np.maximum(np.abs(e) - weight, 0), -bound, bound)
    if model.outlier_sign == "nonnegative":
        r = np.maximum(r, 0)
    return (e - r) ** 2 / 2 + weight * np.abs(r)


def losses(model: Any, X: Any, Y: Any, weight: Any) -> Any:
    """Loss of every row; entries of weight zero may be anything."""
    seen = weight > 0
    x, y = np.where(seen, X, 0.0), np.where(seen, Y, 0.0)
    single = entry_losses(model, x, np.where(seen, Y, 1.0))
    if single is not None:
        return np.where(seen, weight * single, 0).sum(axis=1)
    if isinstance(model, DIVERGENCE_MODELS) and model.divergence == "mahalanobis":
        return np.einsum("nf,fg,ng->n", x - y, model.divergence_parameter, x - y) / 2
    length = np.sqrt((weight * (x - y) ** 2).sum(axis=1))
    if isinstance(model, DIVERGENCE_MODELS):
        return length
    threshold = model.outlier_weight_ * np.sqrt(X.shape[1])  # whole samples are outliers
    square, linear = length**2 / 2, threshold * length - threshold**2 / 2
    return np.where(length <= threshold, square, linear)


def is_convex(model: Any) -> bool:
    """Whether the loss is convex in the prediction."""
    if not isinstance(model, DIVERGENCE_MODELS):
        return True
    if model.divergence == "beta":
        return bool(1 <= model.divergence_parameter <= 2)
    return model.divergence != "is"


def penalties(model: Any, C: Any) -> Any:
    """What the codes of every row cost."""
    penalty = getattr(model, "code_penalty", None)
    if penalty is None:
        return np.zeros(len(C))
    l1, l2 = (penalty.l1, penalty.l2) if isinstance(penalty, ElasticNet) else (penalty, 0.0)
    return l1 * np.abs(C).sum(axis=1) + l2 / 2 * (C**2).sum(axis=1)


# -------------------------------------------------------------------------- sets


def dictionary_set(model: Any) -> Any:
    """Where atoms lie: by default in a ball, unless bounded codes need larger ones."""
    parameters = model.get_params()
    region = parameters.get("dictionary_set")
    if region is not None and not isinstance(region, str):
        return region
    if region not in (None, "auto"):
        return region
    if parameters.get("solver") in ("spsgd", "ol_wang"):
        return "covered_box"
    if parameters.get("solver") in ("rri", "ogm"):
        return "nonnegative"
    codes = parameters.get("code_set", "nonnegative")
    free = codes == "nonnegative" or (isinstance(codes, Box) and codes.upper == np.inf)
    without_zero = codes in ("simplex", "covered_box") or isinstance(codes, Simplex | CoveredBox)
    without_zero |= isinstance(codes, Box) and codes.lower > 0
    priced = parameters.get("code_penalty") is not None and not without_zero
    return "l2_ball" if free or priced else "nonnegative"


def outside(region: Any, V: Any) -> float:
    """How far rows lie outside a set, in the set's own measure; zero inside."""
    below = float(np.max(-V, initial=0.0))
    sums, lengths = np.abs(V).sum(axis=1), np.sqrt((V**2).sum(axis=1))

    def beyond(values: Any, limit: float) -> float:
        return max(below, float(np.max(values, initial=0.0)) - limit)

    if region in ("nonnegative",):
        return below
    if isinstance(region, Box) or region in ("box", "covered_box"):
        upper = region.upper if isinstance(region, Box) else 1.0
        return max(below, beyond(V, upper))
    if region == "simplex":
        return max(below, float(np.abs(sums - 1).max(initial=0.0)))
    if isinstance(region, NonnegativeL1Ball) or region == "l1_ball":
        return beyond(sums, 1.0 if isinstance(region, str) else region.radius)
    if isinstance(region, NonnegativeL2Ball) or region == "l2_ball":
        return beyond(lengths, region.radius if isinstance(region, NonnegativeL2Ball) else 1.0)
    g1, g2 = (1.0, 1.0) if region == "elastic_net_ball" else (region.gamma1, region.gamma2)
    assert region == "elastic_net_ball" or isinstance(region, NonnegativeElasticNetBall)
    return beyond(g1 * sums + g2 / 2 * lengths**2, 1.0)


def projected(region: Any, v: Any) -> Any:
    """A feasible row near v, by scaling and clipping: enough to try directions with."""
    v = np.maximum(v, 0)
    if region == "simplex":
        return v / v.sum() if v.sum() > 0 else np.full_like(v, 1 / len(v))
    if region == "nonnegative":
        return v
    if isinstance(region, Box) or region == "box":
        return np.minimum(v, region.upper if isinstance(region, Box) else 1.0)
    summed = isinstance(region, NonnegativeL1Ball) or region == "l1_ball"
    size = v.sum() if summed else np.sqrt((v**2).sum())
    radius = 1.0 if isinstance(region, str) else region.radius
    return v * min(1.0, radius / size) if size > 0 else v


# ------------------------------------------------------------------------ optima


def improved(model: Any, x: Any, weight: Any, D: Any, c: Any, rng: np.random.Generator) -> float:
    """The least objective that line searches from c find, within the set of the codes."""
    region = getattr(model, "code_set", "nonnegative")

    def objective(code: Any) -> float:
        C = code[None]
        value = losses(model, x[None], C @ D, weight[None]) + penalties(model, C)
        return float(value[0])

    best, value = c.copy(), objective(c)
    K = len(c)
    reach = max(float(np.abs(c).max()), 1e-3 * float(np.abs(x[weight > 0]).max(initial=1.0)))
    for _ in range(2):
        directions = [*np.eye(K), *-np.eye(K), *rng.standard_normal((4, K)), -best]
        for direction in directions:

            def along(t: float, start: Any = best, direction: Any = direction) -> float:
                return objective(projected(region, start + t * reach * direction))

            found = optimize.minimize_scalar(along, bounds=(0, 1), method="bounded")
            small = optimize.minimize_scalar(along, bounds=(0, 0.01), method="bounded")
            t = min((found, small), key=lambda result: result.fun)
            if t.fun < value:
                best, value = projected(region, best + t.x * reach * direction), t.fun
    exact = _exact_optimum(model, x, weight, D)
    return min(value, exact)


def _exact_optimum(model: Any, x: Any, weight: Any, D: Any) -> float:
    """By NNLS and by linear programming, where these apply; else infinity."""
    if getattr(model, "code_set", "nonnegative") != "nonnegative":
        return np.inf
    penalty = getattr(model, "code_penalty", None)
    name = getattr(model, "divergence", "")
    if name == "squared_l2" and penalty is None:
        root = np.sqrt(weight)
        return float(optimize.nnls((D * root).T, np.where(weight > 0, x, 0) * root)[1] ** 2 / 2)
    plain_penalty = penalty is None or isinstance(penalty, float)
    if not (isinstance(model, L1_MODELS) or name == "l1") or not plain_penalty:
        return np.inf
    # min of Σ w(p + q) + λ Σ c over c, p, q ≥ 0 with cD + p − q = x.
    seen = weight > 0
    x, A, w = x[seen], D[:, seen].T, weight[seen]
    if not len(x):
        return 0.0
    w = w * np.where(x == 0, getattr(model, "zero_weight", 1.0), 1.0)
    eye = np.eye(len(x))
    cost = np.concatenate([np.full(A.shape[1], penalty or 0.0), w, w])
    found = optimize.linprog(cost, A_eq=np.hstack([A, eye, -eye]), b_eq=x, method="highs")
    return float(found.fun) if found.status == 0 else np.inf
