"""What notebooks show: scikit-learn's diagram whole, facts that are true, names that stay text."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import thresher
from thresher.engine import Event, History, HistoryRow
from thresher.estimators import Separation
from thresher.report.notebook import card, curve_svg
from thresher.tasks.images import Denoised
from thresher.tasks.video import VideoSeparation
from thresher.testing.data import planted

HOSTILE = "<script>alert('x')</script>\"&"


def without_ids(html):
    """scikit-learn numbers its diagrams."""
    return re.sub(r"sk-(estimator|container)-id-\d+|sk-global", "", html)


def fitted(**parameters):
    X = pd.DataFrame(planted(60))
    X.columns = [HOSTILE if j == 0 else f"column {j}" for j in range(X.shape[1])]
    return thresher.OnlineRobustNMF(3, random_state=0, verbose=0, **parameters).fit(X), X


def test_the_diagram_stays_and_the_card_comes_below_it():
    model, _ = fitted()
    shown = model._repr_html_()
    diagram = BaseEstimator._html_repr(model)
    assert without_ids(shown).startswith(without_ids(diagram))
    assert without_ids(model._repr_mimebundle_()["text/html"]) == without_ids(shown)
    assert f"{model.n_samples_seen_:,} samples seen, all passes together" in shown
    loss = model.history_.column("loss")
    assert f"{loss[0]:.4g}, at last {loss[-1]:.4g}" in shown
    assert f"{model.outlier_weight_:.4g}" in shown


def test_a_model_that_learned_nothing_has_the_diagram_alone():
    model = thresher.OnlineNMF(3)
    assert without_ids(model._repr_html_()) == without_ids(BaseEstimator._html_repr(model))


def test_who_wants_text_gets_text():
    model, _ = fitted()
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")


def test_pipelines_have_their_own_diagram():
    _, X = fitted()
    pipeline = make_pipeline(MinMaxScaler(), thresher.OnlineRobustNMF(3, random_state=0, verbose=0))
    shown = pipeline.fit(X)._repr_html_()
    assert "thresher-card" not in shown
    assert "OnlineRobustNMF" in shown


def test_names_are_text_wherever_they_come_from():
    model, X = fitted()
    model.components_ = model.components_.copy()
    model.components_[:, 0] = 1e6  # so that the hostile name leads every part
    own = model._repr_html_().removeprefix(BaseEstimator._html_repr(model))
    card_alone = own[own.index("thresher-card") :]
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&quot;&amp;" in card_alone
    assert HOSTILE not in card_alone
    outliers = X * 0
    outliers.iloc[7, 0] = 5.0
    shown = Separation(X, outliers, np.zeros((60, 3)))._repr_html_()
    assert HOSTILE not in shown
    assert "5 at row 7, &lt;script&gt;" in shown


def test_batch_models_tell_samples_and_rounds():
    X = planted(60)
    model = thresher.BatchNMF(3, random_state=0, verbose=0).fit(X)
    assert f"60 samples, in {model.n_iter_:,} rounds" in model._repr_html_()
    assert model.n_samples_seen_ == 60 * model.n_iter_


def test_drift_is_noticed():
    model, _ = fitted()
    model.history_.note([Event(40, "shift", 1e-4)])
    assert "shift after 40 samples" in model._repr_html_()


def test_no_colour_is_named_so_that_every_scheme_is_legible():
    history = History()
    for step in range(30):
        history.append(HistoryRow(10 * step, 0.1, 100.0 - step, 0.0, 0.0))
    pieces = [card("a", [("b", "c")], curve=[3.0, 2.0]), history._repr_html_()]
    for html in pieces:
        assert not re.search(r"#[0-9a-f]{3,6}\b|rgb|hsl", html)
        for kind, value in re.findall(r"(color|background|stroke|fill)\s*[:=]\s*\"?([\w-]+)", html):
            assert value in ("inherit", "transparent", "currentColor", "none"), kind


def test_separations_count_what_was_set_aside():
    outliers = np.zeros((20, 5))
    outliers[3, 4], outliers[8, 1], outliers[0, 0] = -7.0, 2.0, np.nan
    shown = Separation(outliers, outliers, np.zeros((20, 2)))._repr_html_()
    assert "2, which is 2.00%" in shown
    assert "20 × 5" in shown
    assert "-7 at (3, 4); 2 at (8, 1)" in shown
    nothing = Separation(outliers * 0, np.zeros((20, 5)), np.zeros((20, 2)))._repr_html_()
    assert "0, which is 0.00%" in nothing


def test_lazy_separations_are_not_computed():
    da = pytest.importorskip("dask.array")

    def computed(block):
        raise AssertionError("somebody computed")

    lazy = da.zeros((20, 5), chunks=10).map_blocks(computed, dtype=float, meta=np.zeros((0, 0)))
    assert "not computed yet" in Separation(lazy, lazy, lazy)._repr_html_()


def test_stacks_of_pictures_are_shown():
    frames = np.full((40, 300, 500, 3), 9, dtype=np.uint8)
    mask = np.zeros((40, 300, 500), dtype=bool)
    mask[:, :30] = True
    shown = VideoSeparation(frames, frames, mask)._repr_html_()
    assert "40 of 500 × 300 pixels" in shown
    assert "10.0% of the pixels" in shown
    assert shown.count("data:image/png;base64,") == 1
    photographs = Denoised(np.ones((2, 9, 9)), np.full((2, 9, 9), np.nan), np.ones((2, 9, 9), bool))
    assert "100.0% of the pixels" in photographs._repr_html_()


def test_curves_go_from_their_first_to_their_last_value():
    svg = curve_svg([100.0, 10.0, 1.0], "loss")
    points = [
        tuple(map(float, p.split(","))) for p in re.search(r'points="([^"]+)"', svg)[1].split()
    ]
    xs, ys = zip(*points, strict=True)
    assert xs == (2.0, 120.0, 238.0)
    assert ys == (2.0, 24.0, 46.0)  # equal steps of a logarithm
    assert "from 100 to 1 in 3 steps" in svg
    assert curve_svg([1.0], "a") == curve_svg([], "a") == curve_svg([np.nan, 1.0], "a") == ""
    assert "nan" not in curve_svg([0.0, 1.0, np.inf, 2.0], "a<b")
    assert "a&lt;b" in curve_svg([1.0, 2.0], "a<b")
