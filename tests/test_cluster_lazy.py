"""Verbs on Dask collections: nothing is computed early, and what comes is what arrays give."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from thresher import OnlineNMF, OnlineOrthogonalDictionary, OnlineRobustNMF, RobustNMF

rng = np.random.default_rng(0)
N, F = 300, 12
X = rng.gamma(1.0, size=(N, 3)) @ rng.random((3, F)) + 0.01 * rng.random((N, F))
X[rng.random(X.shape) < 0.05] += 2
GAPS = np.where(rng.random(X.shape) < 0.1, np.nan, X)
NAMES = [f"c{j}" for j in range(F)]
FRAME = pd.DataFrame(GAPS, columns=NAMES, index=np.arange(N) / 2)
MODEL = OnlineRobustNMF(3, random_state=0, verbose=0).fit(X).calibrate(X)
VERBS = ("transform", "score_samples", "impute", "predict", "decision_function")
VERBS += ("reading_scores",)


def never(block):
    raise AssertionError("nobody asked for it")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_verbs_are_lazy_and_right(verb, dtype):
    samples = GAPS.astype(dtype)
    lazy = da.from_array(samples, chunks=(70, 5))
    getattr(MODEL, verb)(lazy.map_blocks(never, meta=np.empty((0, 0), dtype)))
    result, expected = getattr(MODEL, verb)(lazy), getattr(MODEL, verb)(samples)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype == result.compute().dtype
    np.testing.assert_allclose(result.compute(), expected, rtol=1e-4, atol=1e-4)


def test_a_separation_is_computed_once_for_all_its_parts():
    blocks = []

    def count(block):
        blocks.append(block.shape)
        return block

    lazy = da.from_array(X, chunks=(100, -1)).map_blocks(count, meta=np.empty((0, 0)))
    parts = dask.compute(*MODEL.separate(lazy), scheduler="sync")
    assert len(blocks) == 3
    for part, expected in zip(parts, MODEL.separate(X), strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-9)


def test_frames_keep_index_and_names():
    lazy = dd.from_pandas(FRAME, npartitions=3)
    model = OnlineRobustNMF(3, random_state=0, verbose=0).fit(lazy).calibrate(lazy)
    assert list(model.feature_names_in_) == NAMES
    codes = model.transform(lazy)
    assert list(codes.columns) == list(model.get_feature_names_out())
    low_rank, outliers, _ = dask.compute(*model.separate(lazy))
    here = model.separate(FRAME)
    for frame, values in (
        (codes.compute(), model.transform(FRAME)),
        (model.impute(lazy).compute(), model.impute(FRAME)),
        (model.score_samples(lazy).compute(), model.score_samples(FRAME)),
        (model.predict(lazy).compute(), model.predict(FRAME)),
        (low_rank, here.low_rank),
        (outliers, here.outliers),
    ):
        assert frame.index.equals(FRAME.index)
        np.testing.assert_allclose(frame, values, rtol=1e-9, atol=1e-9)
    assert list(low_rank.columns) == list(model.impute(lazy).columns) == NAMES
    with pytest.raises(ValueError, match="feature names"):
        model.transform(lazy[NAMES[::-1]])
    with pytest.raises(ValueError, match="12 features"):
        MODEL.transform(da.zeros((4, 5)))


def test_sparse_blocks_unknown_lengths_and_empty_parts():
    thin = sparse.csr_array(np.where(X > 1, X, 0))
    lazy = da.from_array(thin.toarray(), chunks=(90, -1)).map_blocks(sparse.csr_matrix)
    model = OnlineNMF(3, divergence="kl", random_state=0, verbose=0).fit(thin)
    np.testing.assert_allclose(model.transform(lazy).compute(), model.transform(thin), atol=1e-9)
    with pytest.raises(TypeError, match="toarray"):
        MODEL.separate(lazy)
    whole = da.from_array(X, chunks=(50, -1))
    few = whole[whole[:, 0] > np.sort(X[:, 0])[-4]]  # most of its blocks are empty
    kept = X[X[:, 0] > np.sort(X[:, 0])[-4]]
    np.testing.assert_allclose(MODEL.transform(few).compute(), MODEL.transform(kept), atol=1e-9)
    assert MODEL.score_samples(few).compute().shape == (3,)
    np.testing.assert_allclose(
        MODEL.separate(few).outliers.compute(), MODEL.separate(kept).outliers, atol=1e-9
    )


def test_a_lazy_result_is_that_of_the_model_as_it_was():
    model = OnlineOrthogonalDictionary(random_state=0, verbose=0).fit(X)
    expected, later = model.transform(X), model.transform(da.from_array(X, chunks=(100, -1)))
    model.partial_fit(X[::-1] ** 2)
    np.testing.assert_allclose(later.compute(), expected, rtol=1e-9, atol=1e-9)


def test_who_needs_all_samples_says_so():
    lazy = da.from_array(X, chunks=(100, -1))
    for call in (RobustNMF(3).fit, OnlineRobustNMF(3).partial_fit, MODEL.objective_samples):
        with pytest.raises(TypeError, match="compute"):
            call(lazy)


def test_results_are_written_block_by_block(tmp_path):
    path = MODEL.transform(da.from_array(X, chunks=(100, -1)), write=tmp_path / "codes.npy")
    np.testing.assert_allclose(np.load(path), MODEL.transform(X), rtol=1e-9, atol=1e-9)
