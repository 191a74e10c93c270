"""Parts that cannot meet are refused before anything is learned, in a sentence that names them."""

import numpy as np
import pytest

from thresher import BatchNMF, OnlineNMF, OnlineRobustNMF, RobustNMF
from thresher.losses import Envelope
from thresher.penalties import Constrained, GroupNorm
from thresher.sets import Box, CoveredBox, GroupBall, L1Ball, L2Ball, NuclearBall, Reals

X = np.random.default_rng(0).random((8, 5))
HALVES = (0, 0, 0, 0, 1, 1, 1, 1)

by_model = pytest.mark.parametrize("model", [OnlineNMF, BatchNMF, OnlineRobustNMF, RobustNMF])


def _refused(model, told, **parameters):
    with pytest.raises(ValueError, match=told):
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
def test_codes_of_a_sample_never_depend_on_the_samples_beside_it(model, parts):
    _refused(model, "ties the codes of several samples together", **parts)


@pytest.mark.parametrize("model", [OnlineRobustNMF, RobustNMF])
def test_outliers_of_a_sample_never_depend_on_the_samples_beside_it(model):
    penalty = GroupNorm(0.1, HALVES, of_rows=True)
    _refused(model, "ties the outliers of several samples", outlier_penalty=penalty)
    with pytest.raises(ValueError, match="ties the outliers of several samples"):
        Envelope(penalty)


@pytest.mark.parametrize("model", [OnlineNMF, BatchNMF])
@pytest.mark.parametrize("divergence", ["kl", "is", "hellinger"])
@pytest.mark.parametrize("parts", [{"code_set": Reals()}, {"dictionary_set": Box(-0.5, 1.0)}])
def test_divergences_of_positive_predictions_refuse_negative_ones(model, divergence, parts):
    _refused(model, "predictions that are not negative", divergence=divergence, **parts)
