"""Equal inputs give equal results: masks, frames of any library, CSR and dense, lists, bytes."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import NMF

from promises.estimators import each_estimator, each_online
from thresher import (
    BatchNMF,
    FaceRecognizer,
    ImageSegmenter,
    ManhattanNMF,
    NovelDocumentDetector,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    RobustNMF,
    SensorCodec,
    SymmetricManhattanNMF,
    TopicModel,
)
from thresher.testing.data import planted, ready, start

SENTINEL = 9999.0
NAMES = [f"sensor {j}" for j in range(24)]
TEXTS = ["rain wind snow", "wind snow hail", "cats dogs mice", "dogs mice birds"] * 10


def with_missing(seed=0):
    """The same samples with NaN, and with a sentinel under a mask."""
    X = planted(120)
    hidden = np.random.default_rng(seed).random(X.shape) < 0.15
    return np.where(hidden, np.nan, X), np.ma.MaskedArray(np.where(hidden, SENTINEL, X), hidden)


def frame_with_missing(n=60):
    X = planted(n)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    index = pd.date_range("2024-01-01", periods=n, freq="h")
    return pd.DataFrame(X, index=index, columns=NAMES)


# ------------------------------------------------------------------------------ masks


@each_estimator
def test_masked_entries_are_missing_and_sentinels_are_never_learned(estimator):
    missing, masked = with_missing()
    plain, model = ready(estimator).fit(missing), ready(estimator).fit(masked)
    np.testing.assert_array_equal(model.components_, plain.components_)
    verbs = ["transform", "score_samples", "objective_samples", "impute"]
    verbs += ["separate"] if hasattr(model, "separate") else []
    for verb in verbs:
        for seen, wanted in zip(
            getattr(model, verb)(masked), getattr(plain, verb)(missing), strict=True
        ):
            np.testing.assert_array_equal(seen, wanted, err_msg=verb)


@each_online
def test_masks_count_in_streams_and_single_batches(estimator):
    missing, masked = with_missing()
    cuts = range(0, 120, 40)
    once = clone(estimator).set_params(n_passes=1)
    streamed = ready(once).fit(masked[i : i + 40] for i in cuts)
    stepped, plain = ready(estimator), ready(estimator)
    for i in cuts:
        stepped.partial_fit(masked[i : i + 40])
        plain.partial_fit(missing[i : i + 40])
    np.testing.assert_array_equal(stepped.components_, plain.components_)
    whole = ready(once).fit(missing[i : i + 40] for i in cuts)
    np.testing.assert_array_equal(streamed.components_, whole.components_)


def test_masks_of_bytes_and_of_single_rows_count():
    X = np.round(255 * planted(60)).astype(np.uint8)
    hidden = np.random.default_rng(1).random(X.shape) < 0.2
    masked = np.ma.MaskedArray(np.where(hidden, 255, X).astype(np.uint8), hidden)
    wanted = ready(OnlineRobustNMF()).fit(np.where(hidden, np.nan, X).astype(np.float32))
    for samples in (masked, list(masked)):
        model = ready(OnlineRobustNMF()).fit(samples)
        np.testing.assert_array_equal(model.components_, wanted.components_)


def test_masks_count_in_tasks():
    X = planted(40)
    hidden = np.random.default_rng(2).random(X.shape) < 0.1
    gaps, masked = np.where(hidden, np.nan, X), np.ma.MaskedArray(X, hidden)
    names = np.arange(40) % 2
    dictionary = ManhattanNMF(3, max_iter=5, random_state=0, verbose=0)
    one, two = (FaceRecognizer(dictionary).fit(P, names) for P in (gaps, masked))
    np.testing.assert_array_equal(one.codes_, two.codes_)
    np.testing.assert_array_equal(one.predict(gaps), two.predict(masked))
    S, far = X @ X.T, hidden[:, :20] @ hidden[:, :20].T
    known, covered = np.where(far, np.nan, S), np.ma.MaskedArray(np.where(far, SENTINEL, S), far)
    H, G = (SymmetricManhattanNMF(3, random_state=0, verbose=0).fit(A) for A in (known, covered))
    np.testing.assert_array_equal(H.embedding_, G.embedding_)
    counts = np.ma.MaskedArray(np.ones((20, 5)), hidden[:20, :5])
    for model, samples in (
        (ImageSegmenter(2), masked),
        (TopicModel(2, vocabulary=list("abcde")), counts),
        (NovelDocumentDetector(2), counts),
    ):
        with pytest.raises(ValueError, match=r"NaN|counts|missing"):
            model.fit(samples)


def test_masks_count_in_packets():
    Y = np.round(20 + np.cumsum(np.random.default_rng(0).normal(size=(60, 3)), axis=0), 1)
    hidden = np.random.default_rng(1).random(Y.shape) < 0.1
    masked = np.ma.MaskedArray(np.where(hidden, -99.0, Y), hidden)
    codec = SensorCodec(error=0)
    decoded = codec.decompress(codec.compress(masked))[0]
    np.testing.assert_array_equal(decoded, np.where(hidden, np.nan, Y))


# ------------------------------------------------------------------------------ frames


FRAME_MODELS = [
    OnlineRobustNMF(),
    OnlineNMF(divergence="kl"),
    ManhattanNMF(max_iter=10),
    OnlineOrthogonalDictionary(),
]


@pytest.mark.parametrize("estimator", FRAME_MODELS, ids=str)
def test_frames_keep_their_index_and_names(estimator):
    frame = frame_with_missing()
    model = ready(estimator).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # arrays have no names
        plain = model.impute(frame.to_numpy()), model.transform(frame.to_numpy())
    decoded = model.inverse_transform(plain[1])
    assert all(type(each) is np.ndarray for each in (*plain, decoded, model.transform(frame)))
    pd.testing.assert_frame_equal(
        model.impute(frame), pd.DataFrame(plain[0], frame.index, frame.columns)
    )
    model.set_output(transform="pandas")
    filled, codes = model.impute(frame), model.transform(frame)
    again = model.inverse_transform(codes)
    for got, expected in ((filled, plain[0]), (again, decoded)):
        assert list(got.columns) == NAMES
        pd.testing.assert_index_equal(got.index, frame.index)
        np.testing.assert_array_equal(got.to_numpy(), expected)
    assert list(model.inverse_transform(plain[1]).columns) == NAMES


@pytest.mark.parametrize("estimator", [OnlineRobustNMF(), RobustNMF()], ids=str)
def test_separations_are_frames_too(estimator):
    frame = frame_with_missing()
    model = ready(estimator).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # arrays have no names
        plain = model.separate(frame.to_numpy())
    by_itself = model.separate(frame)
    assert type(by_itself.codes) is np.ndarray  # as transform gives them
    for got, expected in zip(by_itself[:2], plain[:2], strict=True):
        pd.testing.assert_frame_equal(got, pd.DataFrame(expected, frame.index, frame.columns))
    parts = model.set_output(transform="pandas").separate(frame)
    name = type(estimator).__name__.lower()
    for got, expected, columns in zip(
        parts, plain, (NAMES, NAMES, [f"{name}{k}" for k in range(4)]), strict=True
    ):
        assert type(expected) is np.ndarray
        assert list(got.columns) == columns
        pd.testing.assert_index_equal(got.index, frame.index)
        np.testing.assert_array_equal(got.to_numpy(), expected)
    streamed = list(model.separate(frame[i : i + 25] for i in range(0, 60, 25)))
    pd.testing.assert_index_equal(
        pd.concat([each.outliers for each in streamed]).index, frame.index
    )
    target = np.empty(frame.shape)
    written = model.separate(frame, low_rank=target)
    np.testing.assert_array_equal(target, plain.low_rank)
    np.testing.assert_array_equal(written.low_rank.to_numpy(), target)


KINDS = {
    "pandas": lambda columns: pd.DataFrame(columns, index=range(7, 67)),
    "nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas on Arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "arrow": pa.table,
    "chunks": lambda columns: pa.concat_tables(
        [pa.table(columns).slice(0, 20), pa.table(columns).slice(20)]
    ),
}


def as_array(frame):
    return np.column_stack([np.asarray(frame[name], dtype=float) for name in NAMES])


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_any_library_give_frames_of_that_library(kind):
    """Null and NaN are missing; what comes out has kind, names and index of what went in."""
    X = frame_with_missing().to_numpy()
    lists = {
        name: [None if np.isnan(v) else v for v in X[:, j].tolist()] for j, name in enumerate(NAMES)
    }
    frame = KINDS[kind](lists)
    model = ready(OnlineRobustNMF()).fit(frame)
    plain = ready(OnlineRobustNMF()).fit(X)
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_array_equal(model.components_, plain.components_)
    codes = plain.transform(X)
    np.testing.assert_array_equal(model.transform(frame), codes)
    np.testing.assert_array_equal(model.score_samples(frame), plain.score_samples(X))
    separated, expected = model.separate(frame), plain.separate(X)
    coded = type(frame)(codes) if isinstance(frame, pd.DataFrame) else None
    for got, values in (
        (model.impute(frame), plain.impute(X)),
        (separated.low_rank, expected.low_rank),
        (separated.outliers, expected.outliers),
        *(() if coded is None else [(model.inverse_transform(coded), codes @ plain.components_)]),
    ):
        assert type(got) is type(frame)
        np.testing.assert_allclose(as_array(got), values, rtol=1e-12)
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_index_equal(separated.outliers.index, frame.index)
    streamed = list(model.separate(iter([frame[:25], frame[25:]])))
    assert [type(each.outliers) for each in streamed] == [type(frame)] * 2
    np.testing.assert_allclose(as_array(streamed[1].outliers), expected.outliers[25:], rtol=1e-12)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_all_kinds_of_numbers_are_numbers(make):
    columns = {
        "integer": [1, 2, None, 4],
        "byte": np.array([1, 2, 3, 4], dtype=np.uint8),
        "boolean": [True, None, False, True],
        "decimal": [Decimal("1.25"), Decimal("2.50"), None, Decimal("0.75")],
        "single": np.array([0.5, 1.5, 2.5, np.nan], dtype=np.float32),
        "null": [None] * 4,
    }
    array = [
        [1, 1, 1, 1.25, 0.5, np.nan],
        [2, 2, np.nan, 2.5, 1.5, np.nan],
        [np.nan, 3, 0, np.nan, 2.5, np.nan],
        [4, 4, 1, 0.75, np.nan, np.nan],
    ]
    init = np.random.default_rng(0).random((2, 6))
    from_frame, from_array = (
        OnlineNMF(2, init=init, n_passes=2, random_state=0, verbose=0).fit(X)
        for X in (make(columns), np.array(array))
    )
    np.testing.assert_allclose(from_frame.components_, from_array.components_, rtol=1e-6)
    byte = OnlineNMF(1, n_passes=2, verbose=0).fit(make({"byte": columns["byte"]}))
    assert byte.components_.dtype == np.float32


# --------------------------------------------------------------------- CSR and dense arrays

SPARSE = [
    *(OnlineNMF(divergence=name) for name in ("squared_l2", "kl", "hellinger", "l1", "is")),
    OnlineNMF(divergence="alpha", divergence_parameter=0.3),
    OnlineRobustNMF(outlier_weight=0.1),
    OnlineL1Dictionary(n_passes=2),
    RobustNMF(outlier_weight=0.1, max_iter=5),
    BatchNMF(divergence="kl", max_iter=5),
]


def thinned(n=80):
    X = planted(n)
    X[X < 0.15] = 0
    X[4] = 0  # a row of zeros
    X[:, 7] = 0  # a feature that no atom has
    X[2, 7] = 0.5
    return X


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("estimator", SPARSE, ids=str)
def test_csr_has_the_codes_and_scores_of_the_dense_array(estimator, dtype):
    X = thinned().astype(dtype)
    single = dtype == np.float32
    model = ready(estimator, init=start(estimator, 24)).fit(X)
    model.set_params(code_tol=1e-4 if single else 1e-9, code_max_iter=5000)
    rows = sparse.csr_array(X)
    dense, thin = model.objective_samples(X), model.objective_samples(rows)
    scale = float(np.abs(dense).max())
    np.testing.assert_allclose(thin, dense, rtol=2e-3 if single else 1e-6, atol=1e-6 * scale)
    assert model.transform(rows).dtype == dtype
    if estimator.get_params().get("divergence") not in ("l1", "alpha", "is"):
        codes = model.transform(X)
        atol = (2e-2 if single else 1e-5) * codes.max()
        np.testing.assert_allclose(model.transform(rows), codes, atol=atol)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_csr_with_zeros_duplicates_and_disorder_is_the_matrix_that_it_stands_for(index):
    """And stays as it is in the user's memory."""
    X = thinned(30)
    rows, columns = np.nonzero(X)
    order = np.random.default_rng(0).permutation(len(rows))
    by_row = order[np.argsort(rows[order], kind="stable")]
    halves = np.repeat(X[rows, columns][by_row] / 2, 2)
    counts = np.bincount(rows, minlength=30)
    indptr = np.concatenate([[0], np.cumsum(2 * counts + 1)]).astype(index)
    data, indices = np.zeros(indptr[-1]), np.zeros(indptr[-1], dtype=index)
    for n in range(30):
        place = slice(indptr[n], indptr[n + 1] - 1)  # the last one of each row is a stored zero
        data[place] = halves[2 * counts[:n].sum() : 2 * counts[: n + 1].sum()]
        indices[place] = np.repeat(columns[by_row], 2)[
            2 * counts[:n].sum() : 2 * counts[: n + 1].sum()
        ]
    messy = sparse.csr_array((data, indices, indptr), shape=X.shape)
    np.testing.assert_allclose(messy.toarray(), X)
    before = [values.copy() for values in (messy.data, messy.indices, messy.indptr)]
    for estimator in (OnlineNMF(divergence="kl", n_passes=2), BatchNMF(max_iter=5)):
        clean = ready(estimator).fit(sparse.csr_array(X))
        model = ready(estimator).fit(messy)
        np.testing.assert_allclose(model.components_, clean.components_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(model.score(messy), clean.score(X), rtol=1e-6)
    for now, then in zip((messy.data, messy.indices, messy.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


# ------------------------------------------------------------ set_output and global settings


def test_the_global_setting_changes_containers_only():
    """Nor what calls these methods inside: certificates, and why a document is novel."""
    X = planted(60)
    orthogonal = OnlineOrthogonalDictionary(random_state=0, verbose=0).fit(X)
    model = ready(OnlineRobustNMF()).fit(X)
    documents = ["fox hen fox hen", "fish crab fish crab", "fox hen hen", "crab fish fish"] * 5
    detector = NovelDocumentDetector(
        model=OnlineNMF(2, divergence="kl", random_state=0, verbose=0), random_state=0, verbose=0
    ).fit(documents)
    certificates = orthogonal.certificates(X, orthogonal.transform(X))
    why = detector.explain("fox hen fish owl")
    with config_context(transform_output="pandas"):
        codes = orthogonal.transform(X)
        assert isinstance(codes, pd.DataFrame)
        np.testing.assert_array_equal(orthogonal.certificates(X, codes), certificates)
        assert isinstance(model.impute(X), pd.DataFrame)
        assert isinstance(model.separate(X).codes, pd.DataFrame)
        assert detector.explain("fox hen fish owl") == why


def test_tasks_do_not_depend_on_the_container():
    def detector(model):
        return NovelDocumentDetector(model=model, random_state=0, verbose=0).fit(TEXTS)

    dictionary = OnlineNMF(3, divergence="kl", random_state=0, verbose=0)
    plain = detector(dictionary).explain("rain and parliament")
    framed = clone(dictionary).set_output(transform="pandas")
    assert detector(framed).explain("rain and parliament") == plain
    X, names = planted(20), np.arange(20) % 2
    faces = ManhattanNMF(2, max_iter=5, random_state=0, verbose=0)
    known = FaceRecognizer(faces).fit(X, names)
    other = FaceRecognizer(clone(faces).set_output(transform="pandas")).fit(X, names)
    np.testing.assert_array_equal(other.codes_, known.codes_)
    with config_context(transform_output="pandas"):
        np.testing.assert_array_equal(FaceRecognizer(faces).fit(X, names).codes_, known.codes_)
        image = np.tile([0.0, 1.0], (4, 3))
        cut = ImageSegmenter(2, model=NMF(2, random_state=0, max_iter=500), random_state=0)
        assert isinstance(cut.fit(image).embedding_, np.ndarray)
        assert detector(dictionary).explain("rain and parliament") == plain
