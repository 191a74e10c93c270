"""Combinations that cannot work are refused before any computation."""

import numpy as np
import pytest

from thresher import BatchNMF, OnlineNMF, OnlineRobustNMF, RobustNMF
from thresher.losses import Envelope
from thresher.penalties import GroupNorm
from thresher.sets import Box, CoveredBox, GroupBall, Reals

X = np.random.default_rng(0).random((8, 5))
HALVES = (0, 0, 0, 0, 1, 1, 1, 1)

by_model = pytest.mark.parametrize("model", [OnlineNMF, BatchNMF, OnlineRobustNMF, RobustNMF])


def _refused(model, keyword, **parameters):
    with pytest.raises(ValueError, match=keyword):
        model(2, verbose=0, random_state=0, **parameters).fit(X)


@by_model
@pytest.mark.parametrize(
    "parts",
    [
        {"code_set": GroupBall(1.0, (0, 1))},
        {"code_set": GroupBall(1.0, HALVES, of_rows=True)},
        {"code_set": CoveredBox(0.1, 2.0)},
        {"code_penalty": GroupNorm(0.1, HALVES, of_rows=True)},
    ],
)
def test_codes_of_different_samples_are_independent(model, parts):
    _refused(model, "codes", **parts)


@pytest.mark.parametrize("model", [OnlineRobustNMF, RobustNMF])
def test_outliers_of_different_samples_are_independent(model):
    penalty = GroupNorm(0.1, HALVES, of_rows=True)
    _refused(model, "outliers", outlier_penalty=penalty)
    with pytest.raises(ValueError, match="outliers"):
        Envelope(penalty)


@pytest.mark.parametrize("model", [OnlineNMF, BatchNMF])
@pytest.mark.parametrize("divergence", ["kl", "is", "hellinger"])
@pytest.mark.parametrize("parts", [{"code_set": Reals()}, {"dictionary_set": Box(-0.5, 1.0)}])
def test_divergences_of_positive_predictions_refuse_signed_sets(model, divergence, parts):
    _refused(model, "negative", divergence=divergence, **parts)
