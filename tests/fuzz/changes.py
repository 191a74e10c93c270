"""Streams to which things happen: other parameters, bad batches, ends and new starts, growth."""

import copy
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from fuzz import draws, oracle
from fuzz.checks import Unchanged, differences, refusal, refused_or, same_bits
from thresher import load, save

Rng = np.random.Generator


def _stream(rng: Rng, kinds: Any = draws.ANY) -> tuple[Any, list[np.ndarray]]:
    """An online model and some uneven batches, the first of which may be a single sample."""
    F = int(rng.integers(2, 9))
    model = draws.online(rng, F, kinds)
    if "code_max_iter" in model.get_params():
        model.set_params(code_max_iter=50)  # bits need not be optimal
    if rng.random() < 0.2:
        draws.with_published_solver(model, rng)
    dtype = draws.one_of(rng, np.float64, np.float64, np.float32)
    sizes = rng.integers(1, 16, int(rng.integers(3, 7)))
    X = draws.parts(rng, int(sizes.sum()), F).astype(dtype)
    if model.get_params().get("divergence") != "mahalanobis" and rng.random() < 0.3:
        X[rng.random(X.shape) < 0.1] = np.nan
    return model, np.split(X, np.cumsum(sizes)[:-1])


def _learned(model: Any, batches: list[np.ndarray]) -> Any:
    """A copy of a model that has learned from batches."""
    again = clone(model)
    for batch in batches:
        again.partial_fit(batch)
    return again


def _through_a_file(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.thresher"
        save(model, path)
        return load(path)


def _same_model(a: Any, b: Any, X: Any) -> None:
    same_bits(a.components_, b.components_, "The dictionary")
    same_bits(a.transform(X), b.transform(X), "The codes")
    same_bits(a.score_samples(X), b.score_samples(X), "The scores")
    assert a.n_samples_seen_ == b.n_samples_seen_, "Another number of samples."
    assert a.n_iter_ == b.n_iter_, "Another number of steps."


_BAD = ("infinite", "negative", "narrow", "text", "empty", "huge weights", "short weights")


def _bad_batch(model: Any, batch: np.ndarray, rng: Rng) -> None:
    """A batch that must be refused, and the model must not notice."""
    kind = draws.one_of(rng, *_BAD)
    bad: Any = batch.copy()
    weights: dict[str, Any] = {}
    if kind == "infinite":
        bad[0, 0] = np.inf
    elif kind == "negative" and model.__sklearn_tags__().input_tags.positive_only:
        bad[0, 0] = -1
    elif kind == "text":
        bad = np.full(batch.shape, "a")
    elif kind == "empty":
        bad = batch[:0]
    elif kind == "huge weights":
        weights = {"sample_weight": np.full(len(batch), np.inf)}
    elif kind == "short weights":
        weights = {"sample_weight": np.ones(len(batch) + 1)}
    else:
        bad = np.hstack([batch, batch])
    with Unchanged(model):
        refusal(lambda: model.partial_fit(bad, **weights))


def refused_batches_leave_no_trace(rng: Rng) -> str:
    """A stream with bad batches in it ends with the bits of the stream without them."""
    model, batches = _stream(rng)
    clean = _learned(model, batches)
    model.partial_fit(batches[0])
    for batch in batches[1:]:
        if rng.random() < 0.5:
            _bad_batch(model, batch, rng)
        model.partial_fit(batch)
    _same_model(model, clean, batches[0])
    return "right"


def huge_batches_leave_no_trace(rng: Rng) -> str:
    """A batch with a glitch beyond computing is learned or refused, but never half."""
    model, batches = _stream(rng)
    clean = _learned(model, batches)
    model.partial_fit(batches[0])
    refused = True
    for batch in batches[1:]:
        glitch = np.array(batch, dtype=np.float64)
        glitch[0, 0] = draws.one_of(rng, 1e300, 1e160, 1.7e308)
        before = copy.deepcopy(vars(model))
        if refused_or(lambda: model.partial_fit(glitch)) is None:  # noqa: B023
            changed = differences(before, vars(model))
            assert not changed, f"A refused batch changed {changed[:3]}."
        else:
            refused = False
            assert np.isfinite(model.components_).all(), "Atoms are not finite."
            break
        model.partial_fit(batch)
    if not refused:
        return "right"
    _same_model(model, clean, batches[0])
    return "refused"


def batches_without_entries_teach_nothing(rng: Rng) -> str:
    """Batches of which nothing was observed, anywhere in a stream, leave a model its bits."""
    model, batches = _stream(rng)
    if getattr(model, "divergence", None) == "mahalanobis":  # which takes no missing entries
        return "refused"
    F = batches[0].shape[1]
    missing = np.full((int(rng.integers(1, 4)), F), np.nan)
    if rng.random() < 0.5 and "implicit_zeros" in model.get_params():
        model.set_params(implicit_zeros="missing")
        missing = sparse.csr_array(missing.shape)
    plain = clone(model)
    if refused_or(lambda: [plain.partial_fit(batch) for batch in batches]) is None:
        return "refused"
    for batch in batches:
        for _ in range(int(rng.integers(0, 3))):
            model.partial_fit(missing)
        model.partial_fit(batch)
    model.partial_fit(missing)
    same_bits(model.components_, plain.components_, "The dictionary")
    assert np.isfinite(model.transform(missing)).all(), "Codes of nothing are not finite."
    assert np.isfinite(model.score_samples(missing)).all(), "Scores of nothing are not finite."
    return "right"


def saved_streams_go_on(rng: Rng) -> str:
    """Saved and loaded anywhere, a stream goes on with the same bits."""
    model, batches = _stream(rng)
    whole = _learned(model, batches)
    for batch in batches:
        model.partial_fit(batch)
        if rng.random() < 0.5:
            with Unchanged(model):
                again = _through_a_file(model)
            _same_model(again, model, batches[0])
            model = again
    _same_model(model, whole, batches[0])
    assert len(model.history_) == len(whole.history_), "A part of the history is lost."
    return "right"


def looking_changes_nothing(rng: Rng) -> str:
    """Coding, scoring, imputing and calibrating between steps do not change what is learned."""
    model, batches = _stream(rng)
    whole = _learned(model, batches)
    for batch in batches:
        model.partial_fit(batch)
        name = draws.one_of(rng, "transform", "score_samples", "score", "impute", "separate")
        with Unchanged(model, batch):
            if hasattr(model, name):
                getattr(model, name)(batch)
            repr(model), clone(model)
        if rng.random() < 0.2 and len(batch) > 4 and hasattr(model, "calibrate"):
            model.calibrate(batch, 0.5)
    _same_model(model, whole, batches[0])
    return "right"


class _Interrupt:
    """A callback that presses Ctrl-C, or stops, after some steps."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, step: Any) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def interrupted_fits_resume(rng: Rng) -> str:
    """Interrupted at random, saved, loaded, resumed: the bits of the run that nobody disturbed."""
    model, batches = _stream(rng)
    X = np.vstack(batches)
    weights: dict[str, Any] = {}
    if rng.random() < 0.4:
        weights["sample_weight"] = rng.random(len(X))
    if rng.random() < 0.3 and model.get_params().get("outlier_penalty", "l1") == "l1":
        gaps = (rng.random(X.shape) < 0.9).astype(float)
        if model.get_params().get("divergence") != "mahalanobis":
            weights["entry_weight"] = gaps
    model.set_params(n_passes=3, shuffle=bool(rng.random() < 0.7))
    if refused_or(lambda: clone(model).fit(X, **weights)) is None:
        return "refused"
    whole = clone(model).fit(X, **weights)
    model.set_params(callbacks=[_Interrupt(int(rng.integers(1, 3 * len(X))))])
    with suppress(KeyboardInterrupt):
        model.fit(X, **weights)
    for _ in range(3):
        if rng.random() < 0.7:
            model = _through_a_file(model)
        after = int(rng.integers(1, 10)) if rng.random() < 0.5 else 10**9
        model.set_params(callbacks=[_Interrupt(after)])
        with suppress(KeyboardInterrupt):
            model.resume(X, **weights)
    model.set_params(callbacks=None).resume(X, **weights)
    _same_model(model, whole, X)
    return "right"


def generators_are_batches(rng: Rng) -> str:
    """A generator teaches what its arrays would, cut to size; one that breaks leaves a model."""
    model, batches = _stream(rng)
    model.set_params(batch_size=int(rng.integers(2, 9)), n_passes=1)  # it is read once
    size = model.batch_size
    pieces = [b[i : i + size] for b in batches for i in range(0, len(b), size)]
    expected = _learned(model, pieces)
    if rng.random() < 0.5:
        model.fit(batch for batch in batches)
        _same_model(model, expected, batches[0])
        return "right"

    def breaking() -> Iterator[np.ndarray]:
        yield from batches
        raise OSError("The sensor is gone.")

    try:
        model.fit(breaking())
    except OSError:
        _same_model(model, expected, batches[0])
        return "right"
    raise AssertionError("An error of the stream got lost.")


def growing_streams_keep_what_they_know(rng: Rng) -> str:
    """New features and atoms come and go; old parts stay at that moment, and learning goes on."""
    model, batches = _stream(rng, draws.NONNEGATIVE)
    if model.get_params().get("divergence") == "mahalanobis":
        model.set_params(divergence="kl", divergence_parameter=None)
    if not hasattr(model, "grow"):
        return "right"
    model.set_params(solver="auto")
    model.partial_fit(batches[0])
    for batch in batches[1:]:
        K, F = model.components_.shape
        old = model.components_.copy()
        kind = draws.one_of(rng, "features", "atoms", "keep", "bad", "none")
        if kind == "features":
            model.grow(n_features=F + int(rng.integers(0, 3)))
            same_bits(model.components_[:, :F], old, "Old atoms")
        elif kind == "atoms":
            more = draws.one_of(rng, 1, 2, np.full((1, F), 1 / F))
            model.grow(atoms=more)
            same_bits(model.components_[:K], old, "Old atoms")
            assert len(model.components_) > K, "No atom grew."
        elif kind == "keep":
            places = rng.permutation(F)[: int(rng.integers(1, F + 1))]
            model.keep_features(places)
            same_bits(model.components_, old[:, places], "Kept features")
        elif kind == "bad":
            _refused_growth(model, rng)
        width = model.n_features_in_
        assert model.components_.shape[1] == width, "Atoms and features disagree."
        X = np.resize(np.nan_to_num(batch), (len(batch), width)).astype(batch.dtype)
        codes = model.transform(X)
        assert codes.shape == (len(X), len(model.components_)), "Codes have another shape."
        again = _through_a_file(model).partial_fit(X)
        model.partial_fit(X)
        _same_model(again, model, X)
        assert np.isfinite(model.components_).all(), "Atoms are not finite."
    return "right"


def _refused_growth(model: Any, rng: Rng) -> None:
    F = model.components_.shape[1]
    calls = [
        lambda: model.grow(n_features=F - 1),
        lambda: model.grow(atoms=-1),
        lambda: model.grow(atoms=-np.ones((1, F))),
        lambda: model.grow(atoms=np.full((1, F), np.nan)),
        lambda: model.grow(atoms=np.ones((1, F + 1))),
        lambda: model.keep_features([]),
        lambda: model.keep_features([F]),
        lambda: model.keep_features([-1]),
    ]
    with Unchanged(model):
        refusal(draws.one_of(rng, *calls))


def parameters_change_whole_or_not_at_all(rng: Rng) -> str:
    """`set_params` in the middle of a stream is honoured, or refused and nothing is touched."""
    model, batches = _stream(rng)
    plain = _learned(model, batches)
    half = len(batches) // 2
    for batch in batches[:half]:
        model.partial_fit(batch)
    old = model.get_params()
    other = _of_the_same_kind(model, rng)
    names = [n for n in _CHANGES if n in old and differences(old[n], other[n])]
    if not names:
        return "right"
    chosen = rng.choice(names, size=min(len(names), int(rng.integers(1, 3))), replace=False)
    model.set_params(**{name: other[name] for name in chosen})
    refused = False
    for batch in batches[half:]:
        watch = Unchanged(model)
        watch.__enter__()
        if refused_or(lambda: model.partial_fit(batch)) is None:  # noqa: B023
            watch.__exit__(None)
            refused = True
            model.set_params(**{name: old[name] for name in chosen}).partial_fit(batch)
    if refused:
        _same_model(model, plain, batches[0])
        return "refused"
    _is_honoured(model, batches[0])
    return "right"


_CHANGES = (
    "n_components",
    "init",
    "solver",
    "divergence",
    "divergence_parameter",
    "outlier_weight",
    "outlier_penalty",
    "outlier_sign",
    "outlier_bound",
    "code_set",
    "code_penalty",
    "dictionary_set",
    "dictionary_penalty",
    "forgetting",
    "scale_samples",
    "zero_weight",
    "tol",
    "max_iter",
    "batch_size",
    "n_nonzero",
    "whiten",
)


def _of_the_same_kind(model: Any, rng: Rng) -> dict[str, Any]:
    """Parameters of another model of the same class."""
    while True:
        other = draws.online(rng, model.n_features_in_)
        if type(other) is type(model):
            return other.get_params()


def _is_honoured(model: Any, X: np.ndarray) -> None:
    """What the model says of itself is what it does."""
    parameters = model.get_params()
    D = model.components_
    assert np.isfinite(D).all(), "Atoms are not finite."
    if parameters.get("n_components") is not None:
        assert len(D) == parameters["n_components"], "n_components is not what there is."
    region = oracle.dictionary_set(model)
    if "dictionary_set" in parameters:
        far = oracle.outside(region, D.astype(float))
        assert far <= 1e-5, f"Atoms lie {far:.2g} outside of dictionary_set={region!r}."
    weight = parameters.get("outlier_weight")
    if isinstance(weight, float):
        assert np.isclose(model.outlier_weight_, weight), "outlier_weight is not what is used."
    if "code_set" in parameters:
        C = model.transform(X).astype(float)
        far = oracle.outside(parameters["code_set"], C)
        assert far <= 1e-4 * max(1.0, float(C.max())), "Codes lie outside of code_set."


FAMILIES = [
    batches_without_entries_teach_nothing,
    refused_batches_leave_no_trace,
    huge_batches_leave_no_trace,
    saved_streams_go_on,
    looking_changes_nothing,
    interrupted_fits_resume,
    generators_are_batches,
    growing_streams_keep_what_they_know,
    parameters_change_whole_or_not_at_all,
]
