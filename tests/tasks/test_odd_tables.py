"""Tables of constants, of tiny and of huge numbers are cleaned without a warning of overflow."""

import numpy as np
import pytest

from thresher import TableCleaner


def waves(n=200):
    rng = np.random.default_rng(0)
    return np.sin(np.arange(n)[:, None] / 9 + np.arange(4)) + 0.05 * rng.normal(size=(n, 4))


def changed(place, value):
    X = waves()
    X[place] = value
    return X


TABLES = {
    "constants": np.full((200, 3), 5.0),
    "zeros": np.zeros((200, 3)),
    "constants with a glitch": np.where(np.arange(600).reshape(200, 3) == 150, 6.0, 5.0),
    "one constant": changed((slice(None), 1), 3.0),
    "two values": (waves() > 0) * 1.0,
    "subnormal": changed((slice(100), 1), 5e-324) * [1, 1, 0, 1],
    "a tiny reading": np.where(np.arange(600).reshape(200, 3) == 150, 1e-310, 0.0),
    "a huge reading": changed((50, 1), 1e300),
    "the largest reading": changed((50, 1), -1.7e308),
    "tiny": waves() * 1e-300,
    "huge": waves() * 1e299,
    "huge and tiny": waves() * [1e299, 1e-299, 1, 1],
    "little on much": 1e9 + 1e-9 * waves(),
    "one row": waves(1),
    "two rows": waves(2),
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore:Nothing is known")
def test_odd_numbers_are_cleaned_without_overflow(name, causal):
    X = TABLES[name]
    found = TableCleaner(random_state=0, causal=causal, verbose=0).clean(X)
    kept = ~found.flags
    np.testing.assert_array_equal(found.table[kept], X[kept])
    assert np.isfinite(found.table[kept]).all()
    assert not np.isinf(found.table).any()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("glitch", [1e3, 1e160, -1e300, 1.7e308])
def test_glitches_of_any_size_are_found(glitch, causal):
    found = TableCleaner(random_state=0, causal=causal, verbose=0).clean(changed((150, 2), glitch))
    assert found.flags[150, 2]
    assert abs(found.table[150, 2]) < 2
