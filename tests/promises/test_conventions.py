"""Promise 1: conventions of scikit-learn that `check_estimator` does not test, and logging."""

import inspect
import logging
from importlib.resources import files

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

import thresher
from thresher import (
    BatchNMF,
    Checkpoint,
    FaceRecognizer,
    L1Dictionary,
    ManhattanNMF,
    NovelDocumentDetector,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    SymmetricManhattanNMF,
    TopicModel,
)
from thresher.testing.data import planted, ready

# --------------------------------------------------------------------- before the first fit


def is_fitted_by_data(kind):
    """Whether a class learns, and can be made without arguments."""
    parameters = inspect.signature(kind).parameters.values()
    required = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    learns = any(hasattr(kind, verb) for verb in ("fit", "partial_fit", "separate", "compress"))
    return learns and not required


PUBLIC = [kind for name in dir(thresher) if inspect.isclass(kind := getattr(thresher, name))]
CLASSES = [kind for kind in PUBLIC if is_fitted_by_data(kind)]
every_class = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)


@every_class
def test_unfitted_objects_can_be_inspected(kind):
    unfitted, missing = kind(), object()
    for name in {*dir(unfitted), *dir(kind)}:
        assert hasattr(unfitted, name) == (getattr(unfitted, name, missing) is not missing)


@every_class
def test_attributes_that_need_a_fit_say_so(kind):
    unfitted = kind()
    for name, _ in inspect.getmembers(kind, lambda value: isinstance(value, property)):
        if name.endswith("_") and not hasattr(unfitted, name):
            with pytest.raises(NotFittedError):
                getattr(unfitted, name)


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if hasattr(kind, "fit")])
def test_models_without_a_fit_are_not_saved(kind, tmp_path):
    with pytest.raises(NotFittedError):
        thresher.save(kind(), tmp_path / "model")


# ---------------------------------------------------------------------------------- tags


MODELS = [
    BatchNMF(3, max_iter=3, verbose=0),
    FaceRecognizer(OnlineNMF(3), verbose=0),
    FaceRecognizer(method="projection", verbose=0),
    L1Dictionary(3, max_iter=3, verbose=0),
    ManhattanNMF(3, max_iter=3, verbose=0),
    OnlineL1Dictionary(3, verbose=0),
    OnlineNMF(3, verbose=0),
    OnlineOrthogonalDictionary(verbose=0),
    OnlineRobustNMF(3, verbose=0),
    OnlineRobustPCA(3, verbose=0),
    RobustNMF(3, max_iter=3, verbose=0),
    SymmetricManhattanNMF(3, max_iter=3, verbose=0),
]


def accepts(model, X):
    """Whether a model learns from samples, or refuses them."""
    try:
        clone(model).fit(X, np.arange(X.shape[0]) % 3)
    except (ValueError, TypeError):
        return False
    return True


def counts(n=15):
    """Symmetric counts: samples, similarities and words alike."""
    half = np.random.default_rng(0).poisson(2.0, (n, n)).astype(float)
    return half + half.T + 1


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_tags_are_true(model):
    X, declared = counts(), get_tags(model).input_tags
    assert accepts(model, X)
    negative, missing = X.copy(), X.copy()
    negative[2, 3] = negative[3, 2] = -1.0
    missing[2, 3] = missing[3, 2] = np.nan
    assert declared.positive_only == (not accepts(model, negative))
    assert declared.allow_nan == accepts(model, missing)
    assert declared.sparse == accepts(model, sparse.csr_array(X))
    assert declared.pairwise == (not accepts(model, X[:12]))
    assert declared.two_d_array
    assert not declared.string


@pytest.mark.parametrize(
    "model", [TopicModel(2, random_state=0, verbose=0), NovelDocumentDetector(random_state=0)]
)
def test_models_of_documents_declare_texts_and_take_texts_and_counts(model):
    declared = get_tags(model).input_tags
    assert (declared.string, declared.sparse, declared.two_d_array) == (True, True, False)
    texts = ["red blue green", "blue green red", "iron nail bolt", "nail bolt iron"] * 12
    assert accepts(model, np.array(texts, dtype=object))
    rows = np.random.default_rng(0).poisson(0.7, (60, 30)).astype(float)
    if isinstance(model, TopicModel):
        model = clone(model).set_params(vocabulary=[f"word{j}" for j in range(30)])
    assert accepts(model, sparse.csr_array(rows))


def test_whatever_transforms_declares_it():
    for name in thresher.__all__:
        kind = getattr(thresher, name)
        if isinstance(kind, type) and hasattr(kind, "get_params"):
            declared = get_tags(kind()).transformer_tags is not None
            assert declared == hasattr(kind, "transform"), name


# --------------------------------------------------------------------- logging and types


def test_decisions_are_logged_and_never_printed(caplog, capsys):
    X = sparse.csr_array(np.where(planted(100) > 0.5, 1.0, 0.0))
    ready(OnlineNMF(divergence="kl")).fit(X)
    assert capsys.readouterr() == ("", "")

    def last_record(model):
        caplog.clear()
        model.fit(X)
        return caplog.records[-1].getMessage()

    with caplog.at_level(logging.INFO, logger="thresher"):
        assert "no more" in last_record(ready(OnlineNMF(divergence="kl", n_passes=2)))
        assert "converged" in last_record(ready(OnlineNMF(tol=0.9, n_passes=90)))
        assert "callback" in last_record(ready(OnlineNMF(), callbacks=[lambda step: True]))
        assert "3" in last_record(ready(RobustNMF(max_iter=3, tol=0)))


def test_interrupts_and_checkpoints_are_logged(caplog, tmp_path):
    def interrupt(step):
        raise KeyboardInterrupt

    model = ready(OnlineNMF(), callbacks=[Checkpoint(tmp_path / "model", samples=64), interrupt])
    with (
        caplog.at_level(logging.INFO, logger="thresher"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(planted(100))
    messages = [record.getMessage() for record in caplog.records]
    assert any("Checkpoint" in message for message in messages)
    assert "interrupted" in messages[-1]


def test_types_are_shipped():
    assert (files("thresher") / "py.typed").is_file()
