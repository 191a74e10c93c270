"""What families share: refusals, models that stay as they were, and equal numbers."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator


def refusal(call: Callable[[], Any]) -> str:
    """The sentence with which a call is refused; anything else is wrong."""
    try:
        result = call()
    except (ValueError, TypeError) as error:
        told = error
    else:
        raise AssertionError(f"Accepted without a word: {result!r}")
    sentence = str(told)
    assert not isinstance(told, np.linalg.LinAlgError), f"LinAlgError: {sentence}"
    words = len(sentence.split())
    assert min(words, len(sentence) // 6) > 3, f"A refusal without a sentence: {told!r}"
    return sentence


def refused_or(call: Callable[[], Any]) -> Any:
    """What a call gives, or None if it is refused with a sentence."""
    kept: list[Any] = []
    try:
        refusal(lambda: kept.append(call()))
    except AssertionError:
        if kept:
            return kept[0]
        raise
    return None


def differences(a: Any, b: Any, path: str = "") -> list[str]:
    """Where two objects differ, however deep; NaN equals NaN."""
    if a is b:
        return []
    if hasattr(a, "to_numpy"):  # a frame
        return [] if a.equals(b) else [f"{path}: another frame"]
    if type(a) is not type(b):
        return [f"{path}: {type(a).__name__} became {type(b).__name__}"]
    if isinstance(a, np.ndarray):
        same = a.shape == b.shape and a.dtype == b.dtype
        if same and a.dtype != object:
            same = a.tobytes() == b.tobytes()
        elif same:
            return differences(a.tolist(), b.tolist(), path)
        return [] if same else [f"{path}: another array"]
    if sparse.issparse(a):
        return [] if (a != b).nnz == 0 else [f"{path}: another matrix"]
    if isinstance(a, dict):
        gone = [f"{path}.{key}: gone" for key in a if key not in b]
        new = [f"{path}.{key}: new" for key in b if key not in a]
        both = [key for key in a if key in b]
        return gone + new + [d for k in both for d in differences(a[k], b[k], f"{path}.{k}")]
    if isinstance(a, list | tuple):
        if len(a) != len(b):
            return [f"{path}: {len(a)} items became {len(b)}"]
        pairs = enumerate(zip(a, b, strict=True))
        return [d for i, (x, y) in pairs for d in differences(x, y, f"{path}[{i}]")]
    if isinstance(a, float) and a != a and b != b:
        return []
    if isinstance(a, BaseEstimator):  # without what it derives from its state, as copies are
        return differences(a.__getstate__(), b.__getstate__(), path)
    if dataclasses.is_dataclass(a):  # fields only: a value may cache what it computes from them
        names = [field.name for field in dataclasses.fields(a)]
        pairs = [(getattr(a, name), getattr(b, name), f"{path}.{name}") for name in names]
        return [one for pair in pairs for one in differences(*pair)]
    if hasattr(a, "__dict__"):
        return differences(vars(a), vars(b), path)
    return [] if a == b else [f"{path}: {a!r} became {b!r}"]


class Unchanged:
    """A ``with`` block after which an object is as it was, all the way down."""

    def __init__(self, *objects: Any) -> None:
        self.objects = objects

    def __enter__(self) -> None:
        self.before = copy.deepcopy(self.objects)

    def __exit__(self, kind: Any, *error: object) -> None:
        if kind is None:
            changed = differences(self.before, self.objects)
            assert not changed, f"Something was changed: {', '.join(changed[:5])}"


def without_trace(model: Any, step: Callable[[], Any]) -> Any:
    """What a step of a model gives; one that is refused must leave the model as it was."""
    watch = Unchanged(model)
    watch.__enter__()
    try:
        return step()
    except (ValueError, TypeError):
        watch.__exit__(None)
        raise


def near(a: Any, b: Any, rtol: float, what: str) -> None:
    """Equal up to ``rtol`` of the largest."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    assert a.shape == b.shape, f"{what}: shapes {a.shape} and {b.shape}."
    largest = max(float(np.abs(a).max(initial=0)), float(np.abs(b).max(initial=0)))
    assert np.isfinite(largest), f"{what} is not finite."
    if largest == 0:
        return
    gap = float(np.abs(a / largest - b / largest).max(initial=0))
    assert gap <= rtol, f"{what} differs by {gap:.2g} of its largest entry."


def same_bits(a: Any, b: Any, what: str) -> None:
    """Equal to the last bit."""
    changed = differences(np.asarray(a), np.asarray(b), what)
    assert not changed, f"{changed[0]} (should be the same bits)."
