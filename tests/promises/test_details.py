"""Details that users rely on: input formats, equivalent inputs, refusals with a reason."""

import sys

import numpy as np
import pandas as pd
import pytest

import thresher
from sensors import planted_sensors
from thresher import (
    NovelDocumentDetector,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    TableCleaner,
)

X = np.random.default_rng(0).random((40, 3)) @ np.random.default_rng(1).random((3, 6))


def test_a_table_can_be_given_as_a_path(tmp_path):
    table = pd.DataFrame(planted_sensors(120, 3), columns=list("abc"))
    table.loc[40:50, "a"] = np.nan
    table.to_csv(tmp_path / "a.csv", index=False)
    cleaner = TableCleaner(random_state=0, verbose=0)
    found = cleaner.clean(tmp_path / "a.csv")
    np.testing.assert_allclose(np.asarray(found.table), cleaner.clean(table).table, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_an_orthogonal_dictionary_stays_orthogonal_from_any_dtype_of_init(dtype):
    init = np.array([[2, 1, 0, 0], [0, 3, 1, 0], [0, 0, 2, 1], [1, 0, 0, 4]], dtype=dtype)
    model = OnlineOrthogonalDictionary(init=init, batch_size=40, random_state=0, verbose=0)
    D = model.partial_fit(X[:1, :4]).components_
    np.testing.assert_allclose(D @ D.T, np.eye(4), atol=1e-12)


@pytest.mark.parametrize(("code_set", "bounded"), [("nonnegative", True), ("simplex", False)])
def test_atoms_are_bounded_unless_the_codes_are(code_set, bounded):
    model = OnlineNMF(3, code_set=code_set, random_state=0, verbose=0).fit(20 * X)
    assert (np.linalg.norm(model.components_, axis=1).max() <= 1 + 1e-6) == bounded


def test_equally_unexplained_words_keep_their_order():
    detector = NovelDocumentDetector(3, random_state=0, verbose=0)
    detector.fit(["rain falls on hills", "wind and rain", "dogs bark loud"] * 4)
    text = " ".join(f"w{a}{b}" for a in "qzmkd" for b in "xbtgn")
    first, second = (detector.explain(text, n_words=25).unexplained for _ in range(2))
    assert first == second
    assert len({share for _, share in first}) == 1


def test_choosing_a_half_life_needs_three_batches():
    model = OnlineRobustNMF(1, batch_size=20, random_state=0, verbose=0)
    with pytest.raises(ValueError, match="three"):
        thresher.choose(model, X, forgetting=[None, 20], verbose=0)
    model.set_params(batch_size=14)
    assert thresher.choose(model, X, forgetting=[None, 20], verbose=0).errors_.shape == (2, 2)


class CallCounter:
    """The number of calls of Python functions in a block."""

    def __enter__(self):
        self.count, self.before = 0, sys.getprofile()
        sys.setprofile(self)
        return self

    def __call__(self, frame, event, argument):
        self.count += event == "call"

    def __exit__(self, *error):
        sys.setprofile(self.before)


@pytest.mark.parametrize(("kind", "n_calls"), [(OnlineRobustNMF, 420), (OnlineNMF, 480)])
def test_a_small_step_calls_few_functions(kind, n_calls):
    """On 6 x 56 samples calls of functions take nearly all time, and their number has no noise."""
    samples = np.random.default_rng(0).random((60, 56))
    model = kind(8, random_state=0, verbose=0)
    for first in range(0, 60, 6):
        model.partial_fit(samples[first : first + 6])
    model.transform(samples[:1])
    model.partial_fit(samples[:6])  # not one of those that measure the range of the data
    with CallCounter() as counter:
        model.partial_fit(samples[:6])
    assert counter.count <= n_calls
    model.transform(samples[:1])  # prepares what single rows share
    with CallCounter() as counter:
        model.transform(samples[:1])
    assert counter.count <= 300
