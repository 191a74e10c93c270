"""What users do to models: masks, shapes, other parameters in mid-stream, frames, tol=0."""

import logging
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import NMF

import thresher
from thresher import (
    BatchNMF,
    FaceRecognizer,
    GoDec,
    ImageSegmenter,
    L1Dictionary,
    ManhattanNMF,
    NovelDocumentDetector,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    RobustPCA,
    SensorCodec,
    SymmetricManhattanNMF,
    TopicModel,
    frank_wolfe,
)
from thresher.sets import NuclearBall
from thresher.tasks.text.tfidf import TfIdf
from thresher.testing.data import planted, ready

MATRIX_MODELS = [
    OnlineRobustNMF(n_passes=2),
    RobustNMF(max_iter=5),
    OnlineNMF(divergence="kl", n_passes=2),
    BatchNMF(max_iter=5),
    OnlineL1Dictionary(n_passes=1),
    L1Dictionary(max_iter=3),
    ManhattanNMF(max_iter=5),
    OnlineOrthogonalDictionary(n_passes=2),
    OnlineRobustPCA(n_passes=2),
    RobustPCA(max_iter=50),
    GoDec(max_iter=10),
]
ONLINE_MODELS = [model for model in MATRIX_MODELS if hasattr(model, "partial_fit")]

each_model = pytest.mark.parametrize("estimator", MATRIX_MODELS, ids=lambda m: type(m).__name__)
each_online = pytest.mark.parametrize("estimator", ONLINE_MODELS, ids=lambda m: type(m).__name__)

SENTINEL = 9999.0


def with_gaps(seed=0):
    """The same samples with NaN, and with a sentinel under a mask."""
    X = planted(120)
    hidden = np.random.default_rng(seed).random(X.shape) < 0.15
    gaps = np.where(hidden, np.nan, X)
    return gaps, np.ma.MaskedArray(np.where(hidden, SENTINEL, X), hidden)


# ------------------------------------------------------------------------ masks


@each_model
def test_masked_entries_are_missing_and_sentinels_are_never_learned(estimator):
    gaps, masked = with_gaps()
    plain, model = ready(estimator).fit(gaps), ready(estimator).fit(masked)
    np.testing.assert_array_equal(model.components_, plain.components_)
    verbs = ["transform", "score_samples", "objective_samples", "impute"]
    verbs += ["separate"] if hasattr(model, "separate") else []
    for verb in verbs:
        for seen, wanted in zip(
            getattr(model, verb)(masked), getattr(plain, verb)(gaps), strict=True
        ):
            np.testing.assert_array_equal(seen, wanted, err_msg=verb)


@each_online
def test_masks_count_in_streams_and_single_batches(estimator):
    gaps, masked = with_gaps()
    cuts = range(0, 120, 40)
    once = clone(estimator).set_params(n_passes=1)
    streamed = ready(once).fit(masked[i : i + 40] for i in cuts)
    stepped, plain = ready(estimator), ready(estimator)
    for i in cuts:
        stepped.partial_fit(masked[i : i + 40])
        plain.partial_fit(gaps[i : i + 40])
    np.testing.assert_array_equal(stepped.components_, plain.components_)
    whole = ready(once).fit(gaps[i : i + 40] for i in cuts)
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
    with pytest.raises(ValueError, match="NaN"):
        ImageSegmenter(2).fit(masked)
    counts = np.ma.MaskedArray(np.ones((20, 5)), hidden[:20, :5])
    with pytest.raises(ValueError, match="no counts"):
        TfIdf().fit(counts)
    with pytest.raises(ValueError, match="no counts"):
        TopicModel(2, vocabulary=list("abcde")).fit(counts)
    with pytest.raises(ValueError, match="never missing"):
        NovelDocumentDetector(2).fit(counts)


def test_masks_count_in_packets():
    Y = np.round(20 + np.cumsum(np.random.default_rng(0).normal(size=(60, 3)), axis=0), 1)
    hidden = np.random.default_rng(1).random(Y.shape) < 0.1
    gaps, masked = (
        np.where(hidden, np.nan, Y),
        np.ma.MaskedArray(np.where(hidden, -99.0, Y), hidden),
    )
    codec = SensorCodec(error=0)
    np.testing.assert_array_equal(codec.decompress(codec.compress(masked))[0], gaps)
    sent = codec.encoder(3).encode(masked)
    decoder = codec.decoder()
    values = [decoder.decode(packet).rows for packet in sent]
    np.testing.assert_array_equal(np.vstack([v for v in values if v is not None]), gaps)


def test_masks_where_a_gap_means_nothing_are_refused():
    X = planted(60)
    masked = np.ma.MaskedArray(np.ones(60), np.arange(60) < 3)
    with pytest.raises(ValueError, match="sample_weight has masked"):
        ready(OnlineNMF()).fit(X, sample_weight=masked)
    with pytest.raises(ValueError, match="entry_weight has masked"):
        ready(OnlineNMF()).fit(X, entry_weight=np.ma.MaskedArray(X, X < 0.1))
    with pytest.raises(ValueError, match="init has masked"):
        ready(OnlineNMF(), init=np.ma.MaskedArray(X[:4], X[:4] < 0.1)).fit(X)
    with pytest.raises(ValueError, match="C has masked"):
        ready(OnlineNMF()).fit(X).inverse_transform(np.ma.MaskedArray(X[:, :4], X[:, :4] < 0.1))


def test_nullable_columns_are_gaps():
    pd = pytest.importorskip("pandas")
    gaps, _ = with_gaps()
    frame = pd.DataFrame(gaps).astype("Float64")
    assert frame.iloc[:, 0].isna().any()
    one, two = ready(OnlineRobustNMF()).fit(gaps), ready(OnlineRobustNMF()).fit(frame)
    np.testing.assert_array_equal(one.components_, two.components_)


# ----------------------------------------------------------------------- shapes


@each_model
def test_frames_and_single_rows_are_told_how_to_reshape(estimator):
    X = planted(60)
    model = ready(estimator).fit(X)
    frames, row = X.reshape(60, 4, 6), X[0]
    verbs = [model.fit, model.transform, model.score_samples, model.impute]
    verbs += [model.partial_fit] if hasattr(model, "partial_fit") else []
    verbs += [model.separate] if hasattr(model, "separate") else []
    for verb in verbs:
        with pytest.raises(ValueError, match=r"X\.reshape\(len\(X\), -1\)"):
            verb(frames)
        with pytest.raises(ValueError, match=r"X\.reshape\(1, -1\)"):
            verb(row)
        with pytest.raises(ValueError, match="ragged"):
            verb([[1.0, 2.0], [3.0]])
    np.testing.assert_array_equal(model.transform(frames.reshape(60, -1)), model.transform(X))


def test_streams_and_tasks_are_told_how_to_reshape():
    X = planted(30)
    with pytest.raises(ValueError, match="one sample"):
        ready(OnlineNMF()).fit(row for row in X)
    with pytest.raises(ValueError, match=r"\(30, 4, 6\).*len\(X\)"):
        FaceRecognizer(verbose=0).fit(X.reshape(30, 4, 6), np.arange(30) % 2)
    with pytest.raises(ValueError, match=r"len\(X\), -1"):
        SymmetricManhattanNMF(2).fit(np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match=r"reshape\(1, -1\)"):
        TfIdf().fit(np.ones(4))


# ------------------------------------------------------- parameters in mid-stream

OTHERWISE = {
    "n_components": 7,
    "init": "uniform",
    "missing": "zeros",
    "divergence": "hellinger",
    "divergence_parameter": 0.5,
    "code_set": "simplex",
    "code_penalty": 0.7,
    "dictionary_set": "simplex",
    "dictionary_penalty": 0.3,
    "frozen_atoms": [0],
    "scale_samples": "max",
    "outlier_weight": 0.5,
    "outlier_penalty": "samples",
    "outlier_sign": "nonnegative",
    "outlier_bound": 2.0,
    "zero_weight": 0.5,
    "p": 4,
    "whiten": True,
    "square_weight": 0.5,
    "graph": 2,
    "graph_weight": 2.0,
    "drift": "auto",
    "ridge": 0.5,
    "cardinality": 0.2,
}
MAY_CHANGE = {
    "tol": 1e-2,
    "max_iter": 50,
    "n_jobs": 1,
    "verbose": False,
    "callbacks": [],
    "random_state": 5,
    "batch_size": 7,
    "n_passes": 3,
    "n_starts": 2,
    "shuffle": False,
    "forgetting": 50.0,
    "n_nonzero": 2,
}
OTHER_SOLVER = {
    OnlineRobustNMF: "opgd",
    RobustNMF: "bpgd",
    OnlineNMF: "spsgd",
    BatchNMF: "mu",
    OnlineL1Dictionary: "oiadmm",
    L1Dictionary: "admm",
    ManhattanNMF: "ogm",
    OnlineOrthogonalDictionary: "sfw",
}


@each_model
def test_what_was_learned_keeps_its_parameters(estimator, tmp_path):
    X = planted(80)
    fitted = ready(estimator).fit(X)
    codes, kind = fitted.transform(X), type(estimator)
    verbs = ["transform", "score_samples", "impute"]
    verbs += ["partial_fit", "resume"] if hasattr(fitted, "partial_fit") else []
    for name in fitted.get_params():
        value = OTHER_SOLVER[kind] if name == "solver" else OTHERWISE.get(name)
        if name in MAY_CHANGE and not (name == "forgetting" and kind is OnlineOrthogonalDictionary):
            continue
        value = MAY_CHANGE["forgetting"] if name == "forgetting" else value
        before = getattr(fitted, name)
        fitted.set_params(**{name: value})
        for verb in verbs:
            with pytest.raises(ValueError, match=rf"belongs to .*\b{name}=|^{name}="):
                getattr(fitted, verb)(X)
        with pytest.raises(ValueError, match=rf"belongs to .*\b{name}=|^{name}="):
            thresher.save(fitted, tmp_path / "model")
        fitted.set_params(**{name: before})
        np.testing.assert_array_equal(fitted.transform(X), codes)
    fitted.set_params(**{name: MAY_CHANGE.get(name, v) for name, v in fitted.get_params().items()})


@each_online
def test_what_may_change_is_honoured_at_once(estimator):
    X = planted(80)
    model = ready(estimator).partial_fit(X)
    drifts = isinstance(estimator, OnlineOrthogonalDictionary)
    for name, value in MAY_CHANGE.items():
        if name in model.get_params() and not (drifts and name == "forgetting"):
            model.set_params(**{name: value}).partial_fit(X).transform(X)
    with pytest.raises(ValueError, match="tol=None must be"):
        model.set_params(tol=None).transform(X)
    with pytest.raises(ValueError, match="n_jobs='2' must be"):
        model.set_params(tol=1e-4, n_jobs="2").partial_fit(X)


def test_a_half_life_that_changes_in_mid_stream_counts_from_then_on():
    X, Y = planted(200), planted(200, seed=1)
    changed = ready(OnlineNMF(), forgetting=None).partial_fit(X)
    changed.set_params(forgetting=50.0).partial_fit(Y)
    always = ready(OnlineNMF(), forgetting=None).partial_fit(X).partial_fit(Y)
    half = ready(OnlineNMF(), forgetting=50.0).partial_fit(X).partial_fit(Y)
    np.testing.assert_array_equal(changed.components_, half.components_)
    assert not np.array_equal(changed.components_, always.components_)


def test_arrays_and_parts_that_are_equal_are_no_change():
    X = planted(60)
    start = np.random.default_rng(0).random((4, X.shape[1]))
    model = ready(OnlineNMF(), init=start).partial_fit(X)
    model.set_params(init=start.copy()).partial_fit(X)
    model.set_params(init=start.tolist()).partial_fit(X)
    with pytest.raises(ValueError, match="init="):
        model.set_params(init=2 * start).partial_fit(X)


@pytest.mark.parametrize(
    "wrong", [lambda b, n: 2.0, lambda b, n: -1.0, lambda b, n: float("nan"), lambda b, n: "half"]
)
def test_forgetting_of_ones_own_is_looked_at(wrong):
    X = planted(60)
    model = ready(OnlineNMF()).partial_fit(X)
    atoms = model.components_.copy()
    with pytest.raises(ValueError, match="from 0 to 1"):
        model.set_params(forgetting=wrong).partial_fit(X)
    np.testing.assert_array_equal(model.components_, atoms)


def test_tasks_keep_their_parameters_too():
    texts = ["rain wind snow", "wind snow hail", "cats dogs mice", "dogs mice birds"] * 10
    topics = TopicModel(2, random_state=0, verbose=0).partial_fit(texts)
    with pytest.raises(ValueError, match="n_components=2"):
        topics.set_params(n_components=3).partial_fit(texts)
    with pytest.raises(ValueError, match="n_components=3"):
        topics.transform(texts)
    outer = TopicModel(model=OnlineNMF(2, random_state=0, verbose=0)).partial_fit(texts)
    with pytest.raises(ValueError, match="model__n_components=2"):
        outer.set_params(model__n_components=5).partial_fit(texts)
    detector = NovelDocumentDetector(3, random_state=0, verbose=0).fit(texts)
    with pytest.raises(ValueError, match="max_words"):
        detector.set_params(max_words=5).step(texts)
    faces = FaceRecognizer(ManhattanNMF(2, max_iter=3, verbose=0)).fit(planted(20), [0, 1] * 10)
    with pytest.raises(ValueError, match="method='codes'"):
        faces.set_params(method="projection").predict(planted(20))
    weights = TfIdf(2).fit([[1, 2, 0], [0, 1, 3]])
    with pytest.raises(ValueError, match="n_words=2"):
        weights.set_params(n_words=3).partial_fit([[1, 2, 0]])


def test_the_rule_and_the_vectoriser_of_a_detector_may_change(tmp_path):
    from sklearn.feature_extraction.text import CountVectorizer

    texts = ["rain wind snow", "wind snow hail", "cats dogs mice", "dogs mice birds"] * 15
    detector = NovelDocumentDetector(3, random_state=0, verbose=0).fit(texts)
    assert detector.step(texts).novel.sum() == 0
    marked = detector.set_params(top_share=0.25).step(texts).novel
    assert marked.sum() == 15
    letters = CountVectorizer(analyzer="char")
    cut = NovelDocumentDetector(3, vectorizer=letters, random_state=0, verbose=0).fit(texts)
    wanted = cut.novelty_scores(["rain and hail"])
    thresher.save(cut.set_params(vectorizer=None), tmp_path / "cut")
    again = thresher.load(tmp_path / "cut").set_params(vectorizer=letters)
    np.testing.assert_array_equal(again.novelty_scores(["rain and hail"]), wanted)


# -------------------------------------------------------------------- tolerance 0


@each_model
def test_a_tolerance_of_zero_never_stops(estimator):
    X = np.repeat(planted(20), 3, axis=0)
    rounds = {"max_iter": 40} if "batch_size" not in estimator.get_params() else {"n_passes": 12}
    model = ready(estimator, tol=0, **rounds).fit(X)
    expected = 12 if "n_passes" in rounds else 40
    more = len(model.history_) - expected
    # Rounds that measure the noise come before, five at a time.
    assert more >= 0 and more % 5 == 0 if isinstance(model, L1Dictionary) else more == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = model.transform(X[:5])
    close = model.set_params(tol=1e-9, max_iter=1000) if "max_iter" in model.get_params() else model
    np.testing.assert_allclose(exact, close.transform(X[:5]), atol=1e-3 * exact.max())


def test_a_tolerance_of_zero_never_stops_sweeps_or_steps():
    S = np.kron(np.eye(2), np.ones((4, 4)))
    model = SymmetricManhattanNMF(2, tol=0, max_iter=30, random_state=0, verbose=0).fit(S)
    assert model.n_iter_ == 30
    end = frank_wolfe(lambda Z, t: np.zeros((3, 3)), NuclearBall(1.0), np.zeros((3, 3)), n_steps=9)
    assert end.t == 9


# ------------------------------------------------------------------ linear algebra

ODD = {
    "zeros": np.zeros((12, 5)),
    "constant": np.full((12, 5), 3.0),
    "copies": np.repeat(planted(12, 5)[:1], 12, axis=0),
    "one sample": planted(12, 5)[:1],
    "one feature": planted(12, 5)[:, :1],
    "one zero": np.zeros((1, 1)),
    "all missing": np.full((12, 5), np.nan),
    "subnormal": planted(12, 5) * 1e-320,
    "tiny": planted(12, 5) * 1e-200,
    "huge": planted(12, 5) * 1e200,
    "one glitch": np.where(np.arange(60).reshape(12, 5) == 7, 1e60, planted(12, 5)),
}
SOLVERS = [
    *MATRIX_MODELS,
    OnlineRobustNMF(solver="opgd"),
    OnlineRobustNMF(solver="oadmm"),
    RobustNMF(solver="badmm", max_iter=5),
    OnlineOrthogonalDictionary(whiten=True),
    OnlineOrthogonalDictionary(forgetting=20, whiten=True),
    OnlineOrthogonalDictionary(solver="sfw", init="pca"),
]


def refusal(model, X):
    """What a model says to samples that it refuses."""
    try:
        model.fit(X)
        model.transform(X), model.score_samples(X)
    except ValueError as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize("estimator", SOLVERS, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_linear_algebra_never_fails_in_its_own_words(estimator):
    refused = ("too large or too small", "Rescale")
    for name, X in ODD.items():
        model = clone(estimator)
        wanted = {"random_state": 0, "verbose": 0, "n_jobs": 1}.items()
        model.set_params(**{name: value for name, value in wanted if name in model.get_params()})
        if "n_components" in model.get_params():
            model.set_params(n_components=1 if X.shape[1] == 1 else 3)
        sentence = refusal(model, X)
        assert sentence is None or any(word in sentence for word in refused), f"{name}: {sentence}"


def test_gradients_that_are_not_finite_are_told():
    with pytest.raises(ValueError, match="gradient of step 3 is not finite"):
        frank_wolfe(
            lambda Z, t: np.full((3, 3), np.nan if t == 3 else 1.0),
            NuclearBall(1.0),
            np.zeros((3, 3)),
        )


# ----------------------------------------------------------------------- frames

TEXTS = ["rain wind snow", "wind snow hail", "cats dogs mice", "dogs mice birds"] * 10


def test_topics_do_not_depend_on_the_form_of_output(tmp_path):
    plain = TopicModel(2, random_state=0, verbose=0).fit(TEXTS)
    framed = clone(plain).set_output(transform="pandas").fit(TEXTS)
    assert list(framed.transform(TEXTS).columns) == list(plain.get_feature_names_out())
    assert framed.document_topics(TEXTS) == plain.document_topics(TEXTS)
    framed.report(tmp_path / "page.html", TEXTS)
    with config_context(transform_output="pandas"):
        everywhere = TopicModel(2, random_state=0, verbose=0).fit(TEXTS)
        assert everywhere.document_topics(TEXTS) == plain.document_topics(TEXTS)
        inner = NMF(2, random_state=0)
        other = TopicModel(model=inner).fit(TEXTS)
        assert len(other.document_topics(TEXTS[:3])) == 3


def test_detectors_faces_and_segments_do_not_depend_on_the_form_of_output():
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


# ------------------------------------------------------------------ steps are whole


def snapshot(detector):
    return (
        list(detector.words_),
        detector._words.frequency.copy(),
        detector.n_documents_,
        detector._usual.recent.counts.toarray(),
        detector.components_.copy(),
        detector.n_steps_,
    )


PLACES = [
    "thresher.tasks.text.growing_words.GrowingWords.counts",
    "thresher.tasks.text.growing_words.GrowingWords.weights",
    "thresher.tasks.text.growing_words.GrowingWords.enter",
    "thresher.tasks.text.growing_words.GrowingWords.learn",
    "thresher.tasks.text.growing_words.GrowingWords.rarest",
    "thresher.tasks.text.growing_words.GrowingWords.keep",
    "thresher.tasks.novelty.alarm.Alarm.marks",
    "thresher.tasks.novelty.held_out.HeldOut.judged",
    "thresher.tasks.novelty.held_out.HeldOut.learned",
    "thresher.tasks.novelty.recent.RecentDocuments.keep",
    "thresher.tasks.novelty.memory.DirectionMemory.scores",
    "thresher.tasks.novelty.memory.DirectionMemory.grow",
    "thresher.tasks.novelty.memory.DirectionMemory.learned",
    "thresher.tasks.novelty.memory.DirectionMemory.keep",
    "thresher.tasks.novelty.held_out.topics_beside",
]
NEWS = ["parliament votes on budget", "minister votes on budget", "rain wind snow"] * 5


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.rpartition(".")[2])
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_step_that_fails_anywhere_changes_nothing(monkeypatch, place, error):
    detector = NovelDocumentDetector(3, max_words=10, random_state=0, verbose=0).fit(TEXTS)
    fine = NovelDocumentDetector(3, max_words=10, random_state=0, verbose=0).fit(TEXTS)
    before, reached = snapshot(detector), []

    def fail(*args, **kwargs):
        reached.append(place)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(place, fail)
        for verb in (detector.step, detector.fit):
            judging = ("topics_beside", "judged", "scores", "marks", "grow")
            if place.endswith(judging) and verb == detector.fit:
                continue
            with pytest.raises(error):
                verb([*NEWS, *TEXTS])
            for now, then in zip(snapshot(detector), before, strict=True):
                np.testing.assert_array_equal(now, then)
    assert reached
    one, two = detector.step(NEWS), fine.step(NEWS)
    np.testing.assert_array_equal(one.scores, two.scores)
    np.testing.assert_array_equal(one.novel, two.novel)
    for now, then in zip(snapshot(detector), snapshot(fine), strict=True):
        np.testing.assert_array_equal(now, then)


def test_a_classifier_that_cannot_learn_stays_as_it_was():
    X = planted(20)
    faces = FaceRecognizer(ManhattanNMF(2, max_iter=3, verbose=0)).fit(X, [0, 1] * 10)
    with pytest.raises(ValueError, match="Negative"):
        faces.fit(-X[:, :7], [0, 1] * 10)
    assert faces.n_features_in_ == X.shape[1]
    assert len(faces.predict(X)) == 20


# ----------------------------------------------------------------------- logging


def messages(caplog, level=logging.INFO):
    return [r.getMessage() for r in caplog.records if r.levelno >= level]


def test_the_library_says_what_it_decides_only_to_who_listens(caplog, capsys):
    X = sparse.csr_array(np.where(planted(100) > 0.5, 1.0, 0.0))
    assert any(isinstance(h, logging.NullHandler) for h in logging.getLogger("thresher").handlers)
    ready(OnlineNMF(divergence="kl")).fit(X)
    assert capsys.readouterr() == ("", "")
    with caplog.at_level(logging.INFO, logger="thresher"):
        ready(OnlineNMF(divergence="kl", n_passes=2)).fit(X)
        assert any("ratios" in line for line in messages(caplog))
        assert "no more to read" in messages(caplog)[-1]
        ready(OnlineNMF(tol=0.9, n_passes=90)).fit(X)
        assert "converged" in messages(caplog)[-1]
        ready(OnlineNMF(), callbacks=[lambda step: True]).fit(X)
        assert "callback" in messages(caplog)[-1]
        model = ready(OnlineRobustNMF()).partial_fit(X)
        assert f"is {model.outlier_weight_:g}" in messages(caplog)[-1]
        ready(RobustNMF(max_iter=3, tol=0)).fit(X)
        assert "3 rounds: no more" in messages(caplog)[-1]


def test_interrupts_and_checkpoints_are_told(caplog, tmp_path):
    def interrupt(step):
        raise KeyboardInterrupt

    save = thresher.Checkpoint(tmp_path / "model", samples=64)
    with caplog.at_level(logging.INFO, logger="thresher"):
        with pytest.raises(KeyboardInterrupt):
            ready(OnlineNMF(), callbacks=[save, interrupt]).fit(planted(100))
        told = messages(caplog)
    assert any("Checkpoint after 64 samples" in line for line in told)
    assert "interrupted" in told[-1]


def test_types_are_shipped():
    from importlib.resources import files

    assert (files("thresher") / "py.typed").is_file()
