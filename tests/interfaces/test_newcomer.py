"""A newcomer's walk: from the README to a loss of one's own, the Cauchy loss.

CONTRIBUTING.md takes the reader through this file. What is above the line is all that there is
to write; what is below it shows that the loss then learns everywhere.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from thresher import BatchNMF, Checkpoint, OnlineNMF, load, save
from thresher.estimators.registry import DIVERGENCES
from thresher.losses import Huber, Loss, SeparableLoss


@dataclass(frozen=True)
class Cauchy(SeparableLoss):
    """``Σ s²/2 log(1 + e²/s²)``: far outliers pull less than near ones. It is not convex."""

    scale: float = 0.1

    # What it is at one entry: missing values, weights and blocks are taken care of.

    def entry_value(self, x, y):
        """``s²/2 log(1 + u²)``, ``u = (x − y)/s``."""
        u = (x - y) / y.dtype.type(self.scale)
        return y.dtype.type(self.scale**2 / 2) * np.log1p(u * u)

    def entry_gradient(self, x, y):
        """``(y − x)/(1 + u²)``."""
        u = (x - y) / y.dtype.type(self.scale)
        return (y - x) / (1 + u * u)

    def entry_split(self, x, y):
        """``w y`` and ``w x``, with ``w = 1/(1 + u²)``: what multiplicative updates take."""
        u = (x - y) / y.dtype.type(self.scale)
        weight = 1 / (1 + u * u)
        return weight * y, weight * x

    # What it declares: solvers rely on this, and on nothing else.

    @property
    def curvature(self):
        """One, at the bottom."""
        return 1.0

    @property
    def convex(self):
        """No."""
        return False

    @property
    def convex_surrogate(self):
        """Huber: as robust, and convex."""
        return Huber(self.scale)

    @property
    def degree(self):
        """Two: a square, with a scale that has the unit of the data."""
        return 2.0

    def in_unit(self, unit):
        """The scale divided by the unit."""
        return Cauchy(self.scale / unit)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(DIVERGENCES, "cauchy", Cauchy)  # the line of the registry


# ------------------------------------------------------------------- that was all


def planted(n=240, seed=0):
    """Components, and one entry in twenty that is an outlier."""
    rng = np.random.default_rng(seed)
    D = rng.random((3, 12)) * (rng.random((3, 12)) < 0.5) + 0.02
    clean = rng.random((n, 3)) @ D
    X = clean + 0.01 * rng.standard_normal(clean.shape)
    outliers = rng.random(X.shape) < 0.05
    return np.abs(np.where(outliers, 5 * rng.random(X.shape), X)), clean


def relative_error(model, X, clean):
    found = model.inverse_transform(model.transform(X))
    return np.linalg.norm(found - clean) / np.linalg.norm(clean)


def model(kind, **parameters):
    if kind is OnlineNMF:
        parameters = {"batch_size": 32} | parameters
    return kind(3, divergence="cauchy", random_state=0, verbose=0, **parameters)


def test_its_slope_is_that_of_its_value():
    loss, x, y = Cauchy(0.3), np.linspace(0, 2, 9)[:, None], np.full((9, 1), 0.7)
    h = 1e-6
    slope = (loss.entry_value(x, y + h) - loss.entry_value(x, y - h)) / (2 * h)
    np.testing.assert_allclose(loss.entry_gradient(x, y), slope, atol=1e-8)
    positive, negative = loss.entry_split(x, y)
    np.testing.assert_allclose(positive - negative, loss.entry_gradient(x, y), atol=1e-12)


@pytest.mark.parametrize("kind", [OnlineNMF, BatchNMF])
def test_it_learns_past_the_outliers(kind):
    X, clean = planted()
    squares = kind(3, random_state=0, verbose=0).fit(X)
    assert relative_error(model(kind).fit(X), X, clean) < 0.5 * relative_error(squares, X, clean)


@pytest.mark.parametrize("kind", [OnlineNMF, BatchNMF])
def test_sparse_samples_are_those_of_the_same_array(kind):
    X = np.where(planted()[0] > 0.3, planted()[0], 0)
    dense, thin = model(kind).fit(X), model(kind).fit(sparse.csr_array(X))
    np.testing.assert_allclose(thin.components_, dense.components_, rtol=1e-6, atol=1e-9)
    codes = thin.transform(sparse.csr_array(X))
    np.testing.assert_allclose(codes, dense.transform(X), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", [OnlineNMF, BatchNMF])
def test_missing_values_and_weights(kind):
    X, clean = planted()
    rng = np.random.default_rng(1)
    missing = rng.random(X.shape) < 0.2
    observed = np.where(missing, np.nan, X)
    fitted = model(kind).fit(observed)
    assert relative_error(fitted, observed, clean) < 0.1
    # A missing value is an entry of weight zero; two copies are a sample of weight 2.
    weighed = model(kind).fit(np.where(missing, 9.0, X), entry_weight=(~missing).astype(float))
    np.testing.assert_allclose(weighed.components_, fitted.components_, rtol=1e-6, atol=1e-9)
    if kind is BatchNMF:
        twice = model(kind).fit(np.vstack([X, X]))
        heavy = model(kind).fit(X, sample_weight=np.full(len(X), 2.0))
        assert heavy.score(X) == pytest.approx(twice.score(X), rel=0.02)


def test_codes_are_critical_and_start_well():
    """No worse than Huber's codes, and no step makes them better."""
    X, _ = planted()
    fitted = model(OnlineNMF).fit(X)
    C = fitted.transform(X)
    assert fitted.certificates(X, C).max() <= fitted.tol
    huber = OnlineNMF(3, divergence=Huber(0.1), init=fitted.components_, frozen_atoms=[0, 1, 2],
                      random_state=0, verbose=0).fit(X)  # fmt: skip
    loss, D = Cauchy(), fitted.components_
    ours, theirs = (loss.value(X, codes @ D) for codes in (C, huber.transform(X)))
    assert (ours <= theirs * (1 + 1e-6) + 1e-9).mean() > 0.99


def test_checkpoints_go_on_where_they_were(tmp_path):
    X, _ = planted()
    whole = model(OnlineNMF, n_passes=3).fit(X)
    path = tmp_path / "model.thr"

    def interrupt(step):
        if step.model.n_iter_ == 11:
            raise KeyboardInterrupt

    half = model(OnlineNMF, n_passes=3)
    half.set_params(callbacks=[Checkpoint(path, samples=32), interrupt])
    with pytest.raises(KeyboardInterrupt):
        half.fit(X)
    again = load(path)
    again.resume(X)
    np.testing.assert_array_equal(again.components_, whole.components_)
    save(again, path)
    np.testing.assert_array_equal(load(path).transform(X), whole.transform(X))


def test_a_loss_that_is_not_convex_has_to_name_one_that_is():
    class Bare(Cauchy):
        convex_surrogate, degree = Loss.convex_surrogate, None

    with pytest.raises(ValueError, match="convex_surrogate"):
        OnlineNMF(3, divergence=Bare(), verbose=0).fit(planted()[0])


@pytest.mark.parametrize("mark", ["demo", "test"])
def test_commands_of_the_readme_are_one_line_with_an_environment_of_their_own(mark):
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    between = readme.split(f"<!-- {mark} command -->")[1].split("<!-- end -->")[0]
    (command,) = [line for line in between.splitlines() if line and not line.startswith("```")]
    venv, *rest = command.split(" && ")
    assert venv == "python3 -m venv .venv"
    assert len(rest) == 2
    assert all(step.startswith(".venv/bin/") for step in rest)
