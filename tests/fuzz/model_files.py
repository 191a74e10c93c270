"""Model files: damaged, forged with checksums that fit, interrupted; and whole ones, bit by bit."""

import copy
import io
import json
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from promises.fitted_models import MAKERS, TEXTS, answers, samples
from thresher import OnlineNMF, OnlineOrthogonalDictionary, OnlineRobustNMF, load, save
from thresher.persistence import FileError, file_bytes, read_file, sealed
from thresher.testing.damage import damaged

Rng = np.random.Generator


@cache
def _file(name: str) -> bytes:
    """A whole file of a small model."""
    return _bytes_of(MAKERS[name]())


def _bytes_of(model: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model")
        return (Path(folder) / "model").read_bytes()


def _loaded(content: bytes) -> Any:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        return load(file.name)


def _any_name(rng: Rng) -> str:
    return str(rng.choice(list(MAKERS)))


def _refused(content: bytes) -> str | None:
    """Whether a file is refused with a sentence; None if it loads."""
    said = None
    try:
        _loaded(content)
    except FileError as error:
        said = str(error)
    assert said is None or len(said) > 20, f"No sentence: {said}"
    return None if said is None else "refused"


# ------------------------------------------------------------------------------ damage


def damage_is_noticed(rng: Rng) -> str:
    """Bits, cuts, insertions, swaps, noise, anywhere in a file: nothing damaged loads."""
    content, other = _file(_any_name(rng)), _file(_any_name(rng))
    broken = damaged(content, other, rng)
    if broken in (content, other):
        return "right"
    assert _refused(broken) == "refused", "A damaged file was loaded."
    return "refused"


def one_byte_is_noticed(rng: Rng) -> str:
    """A single byte, half of them in the header; a third of the files is whole, and loads."""
    content = bytearray(_file(_any_name(rng)))
    if rng.random() < 0.33:
        assert _refused(bytes(content)) is None, "A whole file was refused."
        return "right"
    header = 8 + int.from_bytes(content[:8], "little")
    place = int(rng.integers(header if rng.random() < 0.5 else len(content)))
    content[place] ^= int(rng.integers(1, 256))
    assert _refused(bytes(content)) == "refused", f"Damage to byte {place} went unnoticed."
    return "refused"


# ------------------------------------------------------------------------------ forged

_VALUES: tuple[Any, ...] = (
    None, True, 0, 1, -1, 7, 10**9, 2**63 - 1, 2**63, 10**60, 0.0, -0.5, 1e-320, 1e308,
    float("nan"), float("inf"), "", "auto", "kl", "os.system", "\0", [], [1], {}, {"part": "Box"},
    {"part": "Box", "fields": {"lower": -1, "upper": 1e300}}, {"array": "fitted.state.D"},
    {"array": "none"}, {"number": 3, "type": "int8"}, {"kind": "Envelope"}, {"tuple": [1, "x"]},
    {"part": "Envelope", "fields": {"penalty": {"part": "Reals", "fields": {}}}},
    {"part": "HalfLife", "fields": {"samples": 1e-300}}, {"sparse": "x", "width": 10**12},
    {"estimator": "OnlineNMF", "parameters": {}}, {"strings": "words", "objects": True},
)  # fmt: skip


def _places(document: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    if not isinstance(document, dict):
        return []
    here = [(*above, name) for name in document]
    return here + [place for name in document for place in _places(document[name], (*above, name))]


def _forge_document(document: Any, rng: Rng) -> None:
    places = _places(document)
    *path, last = places[int(rng.integers(len(places)))]
    for name in path:
        document = document[name]
    kind = rng.integers(4)
    if kind == 0:
        del document[last]
    elif kind == 1:
        document[f"{last}_"] = document.pop(last)
    else:
        document[last] = copy.deepcopy(_VALUES[int(rng.integers(len(_VALUES)))])


_NUMBERS = (np.nan, np.inf, -1.0, 0.0, 1e-320, 1e38, 1e200, 1e308, -1e308)


def _forge_array(arrays: dict[str, Any], rng: Rng) -> None:
    name = str(rng.choice(list(arrays)))
    V = arrays[name].copy()
    kind = int(rng.integers(10))
    if kind == 0:
        del arrays[name]
        return
    if kind == 1 and V.size:
        count = int(rng.integers(1, V.size + 1)) if rng.random() < 0.3 else 1
        number = rng.choice(_NUMBERS if V.dtype.kind == "f" else [0, 1, 7])
        V.flat[rng.choice(V.size, count, replace=False)] = number
    elif kind == 2 and V.ndim:
        V = V[: int(rng.integers(len(V) + 1))]
    elif kind == 3 and V.ndim > 1:
        V = V[:, : int(rng.integers(V.shape[1] + 1))]
    elif kind == 4:
        V = V.T
    elif kind == 5:
        V = V.astype(rng.choice(["float32", "float64", "int64", "uint8", "bool", "float16"]))
    elif kind == 6:
        V = V.reshape(-1) if V.ndim > 1 else V.reshape(1, -1)
    elif kind == 7 and V.ndim:
        V = np.concatenate([V, V])
    elif kind == 8:
        V = np.zeros_like(V)
    else:
        V = arrays[str(rng.choice(list(arrays)))]
    arrays[name] = V


def _answers_or_refuses(call: Any) -> None:
    """What a call gives: numbers that are numbers, or a refusal in words."""
    values, said = None, None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values = call()
    except ValueError as error:
        said = error
    if said is not None:
        assert not isinstance(said, np.linalg.LinAlgError), f"Linear algebra failed: {said}"
        assert len(str(said)) > 20, f"No sentence: {said}"
        return
    assert np.isfinite(np.asarray(values, dtype=np.float64)).all(), "Results that are no numbers."


def _use(model: Any) -> None:
    """Whatever a file holds, what it loads to answers and learns, or refuses in words."""
    for name in ("max_iter", "code_max_iter"):  # a file may ask for patience; that is no damage
        if name in model.get_params():
            model.set_params(**{name: min(int(getattr(model, name)), 50)})
    model.set_params(n_jobs=1) if "n_jobs" in model.get_params() else None
    _answers_or_refuses(lambda: answers(model))
    if hasattr(model, "partial_fit"):
        more = TEXTS[:9] if hasattr(model, "top_words") else samples(20, seed=2)
        _answers_or_refuses(lambda: model.partial_fit(more).components_)


def forged_files_do_no_harm(rng: Rng) -> str:
    """False documents and arrays under a checksum that fits: refused, or as good as fitted."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(_file(_any_name(rng)))
        file.flush()
        arrays, document = read_file(file.name)
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        if rng.random() < 0.5 and arrays:
            with np.errstate(all="ignore"):
                _forge_array(arrays, rng)
        else:
            _forge_document(document, rng)
    content = file_bytes(arrays, document)
    if _refused(content):
        return "refused"
    _use(_loaded(content))
    return "right"


def forged_headers_are_refused(rng: Rng) -> str:
    """Headers that declare what is not there: nothing is allocated for it. Others load."""
    content = _file(_any_name(rng))
    length = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + length]), content[8 + length :]
    header["__metadata__"]["checksum"] = "0" * 64
    name = str(rng.choice([key for key in header if key != "__metadata__"]))
    entry, kind = header[name], int(rng.integers(10))
    huge = int(2 ** rng.uniform(20, 62))
    if kind == 0:
        entry["shape"] = [huge, *entry["shape"]]
    elif kind == 1:
        entry["data_offsets"][1] += huge
    elif kind == 2:
        entry["shape"], entry["data_offsets"] = [huge, huge], [0, 0]
    elif kind == 3:
        entry["dtype"] = str(rng.choice(["F16", "BF16", "I8", "C64", "F8_E5M2", "object", ""]))
    elif kind == 4:
        header["__metadata__"]["document"] = "[" * int(rng.integers(1000, 200_000))
    elif kind == 5:
        header["__metadata__"].pop(str(rng.choice(["document", "checksum", "version", "format"])))
    elif kind == 6:
        header["__metadata__"]["version"] = str(rng.choice(["2", "3", "0", "-1", "x", "", "1e9"]))
    elif kind == 7:
        header["more"] = {"dtype": "F64", "shape": [huge], "data_offsets": [0, 8 * huge]}
    text = json.dumps(header, separators=(",", ":")).encode()
    whole = len(text).to_bytes(8, "little") + text + body
    if "checksum" in header["__metadata__"]:
        whole = sealed(whole)
    if kind > 7:  # the same in other words
        assert _refused(whole) is None, "A header that is right was not believed."
        return "right"
    assert _refused(whole) == "refused", "A header that lies was believed."
    return "refused"


# ------------------------------------------------------------------------------- whole


def _drawn(rng: Rng) -> Any:
    """An online model with parameters drawn at random."""
    common = {
        "random_state": int(rng.integers(1000)),
        "verbose": 0,
        "batch_size": int(rng.integers(4, 20)),
        "n_passes": int(rng.integers(1, 4)),
        "shuffle": bool(rng.random() < 0.5),
        "forgetting": [None, "auto", 30.0][int(rng.integers(3))],
        "n_jobs": 1,
    }
    kind, K = int(rng.integers(3)), int(rng.integers(1, 4))
    if kind == 0:
        weights = ["auto", "mad", 0.2]
        return OnlineRobustNMF(
            K,
            outlier_weight=weights[int(rng.integers(3))],
            solver=str(rng.choice(["auto", "opgd", "oadmm"])),
            scale_samples=[None, "max"][int(rng.integers(2))],
            **common,
        )
    if kind == 1:
        divergence = str(rng.choice(["squared_l2", "kl", "hellinger", "l1", "huber"]))
        return OnlineNMF(K, divergence=divergence, **common)
    forgetting = common.pop("forgetting")
    return OnlineOrthogonalDictionary(
        forgetting=forgetting, whiten=bool(rng.random() < 0.3), **common
    )


def _same_bits(one: Any, two: Any) -> None:
    np.testing.assert_array_equal(one.components_, two.components_)
    for name, values in one.statistics_.arrays().items():
        np.testing.assert_array_equal(values, two.statistics_.arrays()[name])
    assert one.n_samples_seen_ == two.n_samples_seen_


def files_do_not_change_bits(rng: Rng) -> str:
    """Saved and loaded, a model codes and learns the same bits, and saves the same bytes."""
    F = int(rng.integers(2, 7))
    X = samples(int(rng.integers(8, 40)), F, int(rng.integers(1000))) + 0.01
    X = X.astype(rng.choice(["float32", "float64"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = _drawn(rng).fit(X)
        content = _bytes_of(model)
        again = _loaded(content)
        assert _bytes_of(again) == content, "A file that was loaded and saved is another one."
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
        weight = rng.random(len(X)) if rng.random() < 0.5 else None
        model.partial_fit(X, sample_weight=weight), again.partial_fit(X, sample_weight=weight)
    _same_bits(again, model)
    return "right"


def interrupted_fits_go_on(rng: Rng) -> str:
    """Stopped anywhere, saved, loaded and resumed: the bits of a fit that was never stopped."""
    F = int(rng.integers(2, 7))
    X = samples(int(rng.integers(8, 40)), F, int(rng.integers(1000))) + 0.01
    weights = {"sample_weight": rng.random(len(X)) + 0.1} if rng.random() < 0.5 else {}
    model = _drawn(rng)
    whole = copy.deepcopy(model).fit(X, **weights)
    stop = int(rng.integers(1, len(whole.history_) + 1))

    def interrupt(step: Any) -> None:
        if len(step.model.history_) == stop:
            raise KeyboardInterrupt

    try:
        model.set_params(callbacks=[interrupt]).fit(X, **weights)
    except KeyboardInterrupt:
        again = _loaded(_bytes_of(model))
        again.resume(X, **weights)
        _same_bits(again, whole)
        return "right"
    raise AssertionError("The interrupt got lost.")


def interrupted_saves_leave_the_old_file(rng: Rng) -> str:
    """Whatever fails while a file is written, the old one is there, and nothing else."""
    kind = [OSError, KeyboardInterrupt, MemoryError][int(rng.integers(3))]
    call = str(rng.choice(["os.open", "os.fdopen", "os.fsync", "os.chmod", "os.replace", "write"]))

    def fail(*_: Any, **__: Any) -> Any:
        raise kind("pulled the plug")

    class Broken(io.FileIO):
        write = fail

    place, new = ("os.fdopen", Broken) if call == "write" else (call, fail)
    model = _loaded(_file("RobustNMF"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(_file("OnlineNMF"))
        with mock.patch(place, new):
            try:
                save(model, path)
            except kind:
                pass
            else:
                raise AssertionError(f"{call} failed without a word.")
        assert path.read_bytes() == _file("OnlineNMF"), "The old file is gone."
        assert len(list(Path(folder).iterdir())) == 1, "A temporary file was left behind."
    return "right"


FAMILIES = [
    damage_is_noticed,
    one_byte_is_noticed,
    forged_files_do_no_harm,
    forged_headers_are_refused,
    files_do_not_change_bits,
    interrupted_fits_go_on,
    interrupted_saves_leave_the_old_file,
]
