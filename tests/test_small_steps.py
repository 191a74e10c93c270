"""A tiny step costs little: what does not change is asked once, and records are cheap."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thresher import OnlineNMF, OnlineRobustNMF
from thresher.encoding import CodingProblem
from thresher.encoding.certificates import proximal_residual
from thresher.linalg import has_gram, is_finite
from thresher.losses import Huber, SquaredL2
from thresher.penalties import Constrained, ElasticNet

X = np.random.default_rng(0).random((60, 56))


def calls_of(work: Callable[[Any], Any], samples: Any) -> int:
    """How many Python functions a call calls."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work(samples)
    finally:
        sys.setprofile(before)
    return count


# On 6 × 56 samples nearly all time goes into calling functions, about a millionth of a second for
# each, and their number knows no noise. It was 753 and 582, and 885 and 626. The bounds leave room
# for what another version of Python or NumPy calls; whoever exceeds them has put something into
# every step that could be done once.
@pytest.mark.parametrize(
    ("make", "most"),
    [(OnlineRobustNMF, (420, 300)), (OnlineNMF, (480, 300))],
)
def test_a_small_step_calls_few_functions(make, most):
    model = make(8, random_state=0, verbose=0)
    for start in range(0, 60, 6):
        model.partial_fit(X[start : start + 6])
    model.transform(X[:1])
    model.partial_fit(X[:6])  # not one of those that measure the range of the data
    assert calls_of(model.partial_fit, X[:6]) <= most[0]
    model.transform(X[:1])  # prepares what single rows share
    assert calls_of(model.transform, X[:1]) <= most[1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", [SquaredL2(), Huber(0.2), Huber(0.2, 0.5, nonnegative=True)])
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_certificates_are_those_of_the_formula(loss, weighted, dtype):
    rng = np.random.default_rng(1)
    D = rng.random((5, 23)).astype(dtype)
    C = np.maximum(rng.standard_normal((9, 5)), 0).astype(dtype)
    samples = (C @ D + rng.standard_normal((9, 23))).astype(dtype)
    weight = None
    if weighted:
        weight = np.maximum(rng.standard_normal((9, 23)), 0).astype(dtype)
        weight[0] = 0
    samples[-1] = 0
    problem = CodingProblem(D, loss, Constrained(ElasticNet(0.1, 0.3)))

    def slopes(codes):
        return loss.gradient(samples, codes @ D, weight) @ D.T

    L = problem.row_lipschitz(weight, len(C))
    moved = np.maximum(C - slopes(C) / L - 0.1 / L, 0) / (1 + 0.3 / L)
    length = L[:, 0] * np.linalg.norm(C - moved, axis=1)
    with np.errstate(over="ignore"):
        unit = np.linalg.norm(slopes(np.zeros_like(C)), axis=1)
        wanted = length / np.maximum(unit, np.finfo(dtype).tiny)
    found = proximal_residual(problem, samples, C, weight)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol=1e3 * np.finfo(dtype).eps)


def test_parameters_that_were_in_order_are_looked_at_again_when_they_change():
    model = OnlineRobustNMF(4, random_state=0, verbose=0).partial_fit(X)
    first = model.transform(X[:3])
    model.code_penalty = 1.0
    with pytest.raises(ValueError, match=r"code_penalty=1\.0"):
        model.transform(X[:3])
    model.set_params(code_penalty=None, tol=-1.0)
    with pytest.raises(ValueError, match=r"tol=-1\.0"):
        model.partial_fit(X)
    model.set_params(tol=1e-4, callbacks=[])
    model.transform(X[:3])
    model.callbacks.append(3)  # in place
    with pytest.raises(ValueError, match="callbacks"):
        model.transform(X[:3])
    model.callbacks.clear()
    np.testing.assert_array_equal(model.transform(X[:3]), first)


def test_steps_share_what_follows_from_lambda_and_nothing_else():
    """λ changes with the data; what was made for the last one must not outlive it."""
    together = OnlineRobustNMF(4, random_state=0, verbose=0)
    for scale in (1.0, 3.0, 0.5, 2.0):
        together.partial_fit(scale * X)
        apart = OnlineRobustNMF(4, random_state=0, verbose=0)
        apart.__setstate__(together.__getstate__())  # another model, which has made nothing yet
        np.testing.assert_array_equal(together.transform(X[:5]), apart.transform(X[:5]))
        after = apart.partial_fit(X).components_
        np.testing.assert_array_equal(together.partial_fit(X).components_, after)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_quick_looks_at_sizes_agree_with_long_ones(dtype):
    most = float(np.sqrt(np.finfo(dtype).max))
    for size in (0.1, 0.49, 0.9, 1.1, np.nan, np.inf):
        V = np.full((3, 1), dtype(size) * dtype(most))
        with np.errstate(over="ignore", invalid="ignore"):
            assert has_gram(V) == bool(
                ((V.astype(np.longdouble) ** 2) <= np.finfo(dtype).max).all()
            )
        assert is_finite(V) == bool(np.isfinite(V).all())
