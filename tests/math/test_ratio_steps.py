"""Dictionaries under divergences, on bounded sets and data of any size, without overflow."""

import numpy as np
import pytest

from thresher import BatchNMF, OnlineNMF

CASES = [
    ("kl", None),
    ("is", None),
    ("hellinger", None),
    ("alpha", 2.0),
    ("alpha", -0.5),
    ("beta", 1.5),
    ("beta", 0.5),
    ("beta", 2.5),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("region", ["simplex", "l1_ball", "l2_ball", "elastic_net_ball", "box"])
@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_steps_on_bounded_sets_stay_finite(name, parameter, region):
    for seed, penalty in enumerate([None, 0.1, 1e3]):
        rng = np.random.default_rng(seed)
        X = rng.random((12, 5)) ** 6 * 10.0 ** rng.integers(-12, 12) * (rng.random((12, 5)) < 0.4)
        for kind in (OnlineNMF, BatchNMF):
            model = kind(
                2,
                divergence=name,
                divergence_parameter=parameter,
                dictionary_set=region,
                dictionary_penalty=penalty,
                max_iter=20,
                random_state=0,
            )
            assert np.isfinite(model.fit(X).components_).all()
