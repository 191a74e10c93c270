"""What happens exactly at a boundary: no loss at all, a forgotten atom."""

import numpy as np
import pytest

from thresher import TopicModel
from thresher.estimators import OnlineRobustNMF
from thresher.learning import DiagonalLearner, QuadraticLearner, RatioLearner
from thresher.learning.block_descent import BlockDescent
from thresher.learning.ratio import RatioSums
from thresher.penalties import Constrained
from thresher.sets import NonnegativeL2Ball


def test_a_fit_without_loss_converges_after_two_windows():
    """A window is the least number of passes with 500 samples."""
    X = np.zeros((50, 6))
    model = OnlineRobustNMF(2, batch_size=25, random_state=0, verbose=0).fit(X)
    assert model.n_samples_seen_ == 2 * 500
    assert (model.history_.column("loss") == 0).all()


@pytest.mark.parametrize(
    "learner",
    [QuadraticLearner(BlockDescent()), DiagonalLearner(), RatioLearner(1.0, 0.0)],
    ids=str,
)
def test_statistics_forget_an_atom_and_nothing_else(learner):
    empty = learner.empty(4, 5)
    full = type(empty)(
        **{name: np.ones_like(values) for name, values in empty.arrays().items()},
        **dict.fromkeys(empty.numbers(), 3.0),
    )
    left = full.without(np.array([1, 2]))
    assert left.numbers() == full.numbers()
    for name, values in left.arrays().items():
        expected = np.ones_like(values)
        for axis, letter in enumerate(type(full).AXES[name]):
            if letter == "K":
                expected[(slice(None),) * axis + ([1, 2],)] = 0
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(full.arrays()[name], np.ones_like(values))


@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize("powers", [(1.0, 0.0), (2.0, 0.0)])
def test_entries_that_vanish_can_come_back(powers, width):
    """Steps multiply: an entry that became zero would stay zero for ever."""
    learner = RatioLearner(*powers)
    negative = np.random.default_rng(0).random((3, 5)) + 0.1
    negative[:, 2] = 0
    sums = RatioSums(negative, np.ones((3, width)), np.full(5, 3.0), 4.0)
    D = np.full((3, 5), 0.4)
    ball = Constrained(region=NonnegativeL2Ball())
    moved, _, _ = learner.learn(learner.empty(3, 5), sums, D, ball, np.ones(3, dtype=bool))
    assert (moved > 0).all()
    assert (moved[:, 2] < moved[:, [0, 1, 3, 4]].min(axis=1)).all()


def test_a_report_writes_minus_as_minus(tmp_path):
    """Words that never meet have a coherence of minus one."""
    texts = [f"word{'abcdefgh'[i % 8]}" for i in range(80)]
    model = TopicModel(2, random_state=0).fit(texts)
    page = tmp_path / "topics.html"
    model.report(page, texts)
    text = page.read_text(encoding="utf-8")
    assert f"{model.coherence(texts).mean:.2f}" == "-1.00"
    assert "−1.00" in text
    assert "-1.00" not in text
