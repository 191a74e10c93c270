"""What is handed on arrives: arguments, branches and types that no result shows by itself."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import hypergeom
from sklearn.base import BaseEstimator

import thresher
from sensors import planted_sensors
from thresher.cli.live.views import parts_view
from thresher.cli.live.wishes import Wishes
from thresher.estimators import batch
from thresher.losses import Bregman
from thresher.tasks.compression.files import compress_file
from thresher.tasks.novelty.emerging import _chances
from thresher.tasks.novelty.memory import DictionaryMemory
from thresher.tasks.tables.correlation import found_period
from thresher.tasks.video.light import Light


def test_a_table_may_be_given_as_a_path(tmp_path: Path) -> None:
    table = pd.DataFrame(planted_sensors(120, 3), columns=list("abc"))
    table.loc[40:50, "a"] = np.nan
    table.to_csv(tmp_path / "a.csv", index=False)
    cleaner = thresher.TableCleaner(random_state=0, verbose=0)
    found = cleaner.clean(tmp_path / "a.csv")
    np.testing.assert_allclose(np.asarray(found.table), cleaner.clean(table).table, rtol=1e-9)


def test_progress_of_a_compression_begins_at_nothing(tmp_path: Path) -> None:
    Y = np.round(planted_sensors(90, 2), 1)
    pd.DataFrame(Y, columns=["a", "b"]).to_csv(tmp_path / "a.csv", index=False)
    told: list[tuple[str, int, int]] = []
    codec = thresher.SensorCodec(error=0.01)
    compress_file(tmp_path / "a.csv", tmp_path / "a.thr", codec, lambda *now: told.append(now))
    assert told[0] == ("compress", 0, 90)
    assert ("compress", 90, 90) in told
    assert told[-1] == ("check", 90, 90)


def test_noise_of_stored_entries_is_that_of_a_dense_table_with_gaps() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((400, 3)) @ rng.random((3, 12)) + 0.05 * rng.random((400, 12)) + 0.1
    X = np.where(rng.random(X.shape) < 0.4, np.nan, X)
    stored = sparse.csr_array(np.nan_to_num(X))
    weight = rng.random(400) + 0.5
    dense, sparsely = (
        thresher.OnlineRobustNMF(3, outlier_weight="mad", random_state=0, verbose=0, **more)
        for more in ({}, {"missing": "zeros"})
    )
    dense.fit(X, sample_weight=weight)
    sparsely.fit(stored, sample_weight=weight)
    assert sparsely.outlier_weight_ == pytest.approx(dense.outlier_weight_, rel=0.1)


def test_a_batch_model_streams_to_the_end_before_it_alternates(monkeypatch) -> None:
    told = []
    stream = batch.stream

    def listening(method, state, source, pool, report, *rest):
        def heard(*now):
            told.append(report(*now))
            return told[-1]

        return stream(method, state, source, pool, heard, *rest)

    monkeypatch.setattr(batch, "stream", listening)
    X = np.random.default_rng(0).random((600, 8))
    thresher.BatchNMF(2, divergence="kl", max_iter=3, random_state=0, verbose=0).fit(X)
    assert len(told) > 1
    assert not any(told)


@pytest.mark.parametrize(
    ("n", "period", "found"), [(45, 12, 12), (29, 6, 0), (30, 6, 6), (120, 0, 0)]
)
def test_a_period_is_found_if_there_is_one(n: int, period: int, found: int) -> None:
    Z = np.sin(2 * np.pi * np.arange(n) / period) if period else np.zeros(n)
    assert found_period(Z[:, None], np.ones((n, 1), dtype=bool)) == found
    assert found_period(np.ones((n, 1)), np.ones((n, 1), dtype=bool)) == 0


def test_chances_of_groups_are_times_those_that_count() -> None:
    """Groups of 4, 2 and 1 documents, of which the first five are of the step."""
    labels = np.array([0, 0, 0, 1, 2, 0, 1])
    expected = 2 * hypergeom.sf([2, 0, 0], 7, 5, [4, 2, 1])
    np.testing.assert_allclose(_chances(labels, 5), np.minimum(1, expected))


def test_parts_of_either_sign_are_drawn_by_their_size() -> None:
    atom = np.array([[0.0, -1.0, 0.5, -0.25]])
    up, down = (parts_view(sign * atom, None, (2, 2))["pictures"] for sign in (1, -1))
    assert up == down
    assert up == parts_view(np.abs(atom), None, (2, 2))["pictures"]


def test_second_derivatives_keep_the_type_of_the_data() -> None:
    loss = Bregman(
        lambda y: np.asarray(y, dtype=np.float64) ** 2 / 2,
        lambda y: np.asarray(y, dtype=np.float64),
        lambda y: np.ones(np.shape(y)),
    )
    assert loss._bend(np.ones((2, 3), dtype=np.float32)).dtype == np.float32


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_a_start_of_another_type_is_as_orthogonal(kind: type) -> None:
    X = np.random.default_rng(0).standard_normal((300, 4))
    init = np.array([[2, 1, 0, 0], [0, 3, 1, 0], [0, 0, 2, 1], [1, 0, 0, 4]], dtype=kind)
    model = thresher.OnlineOrthogonalDictionary(
        init=init, n_passes=1, batch_size=300, random_state=0, verbose=0
    )
    D = model.partial_fit(X[:1]).components_
    np.testing.assert_allclose(D @ D.T, np.eye(4), atol=1e-12)


class Remembers(BaseEstimator):
    """A model without partial_fit that keeps what it is given."""

    def __init__(self, init=None, n_components=2):
        self.init, self.n_components = init, n_components

    def fit(self, X):
        self.seen_ = X
        self.components_ = np.eye(2, X.shape[1]) if self.init is None else self.init
        return self

    def objective_samples(self, X):
        return np.arange(X.shape[0], dtype=float)  # the last is least explained


def test_light_is_learned_anew_by_a_model_that_cannot_go_on() -> None:
    light = Light(np.ones(3), waiting=(np.ones(3), 2 * np.ones(3)))
    later = light.learned(Remembers())
    np.testing.assert_array_equal(later.estimator.seen_, [[1, 1, 1], [2, 2, 2]])
    assert later.waiting == light.waiting  # all is learned from again next time


def test_dead_atoms_are_replaced_and_new_ones_added() -> None:
    rows = sparse.csr_array(np.eye(5))
    memory = DictionaryMemory(Remembers(), n_new_atoms=1).learned(rows)
    memory.model.components_ = np.vstack([np.eye(1, 5), np.zeros((2, 5))])  # two are dead
    again = memory.learned(rows)
    assert again.model.n_components == 4  # one alive, two in place of the dead, one new
    assert again.model.init[0].tolist() == [1, 0, 0, 0, 0]
    assert again.model.seen_.shape == (10, 5)


def test_the_next_wish_is_not_waited_for_unless_that_is_asked() -> None:
    began = time.perf_counter()
    assert Wishes().next() is None
    assert time.perf_counter() - began < 0.5
