"""A `VideoSeparator` as arrays and a JSON document, for `thresher.save` and `load`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError

from thresher.estimators.saving import pack, packed_parameters, unpack, unpacked_model
from thresher.linalg import Array
from thresher.persistence import Contents
from thresher.tasks.video.light import Light, cell_side
from thresher.tasks.video.noise import PixelNoise
from thresher.tasks.video.scene import Scene

if TYPE_CHECKING:
    from thresher.tasks.video.separator import VideoSeparator

_COUNTS = ("last_kept", "n_frames", "began", "n_strange", "n_aligned", "last_aligned")


def pack_separator(separator: VideoSeparator) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scene, with the model of its light."""
    if not hasattr(separator, "_scene"):
        raise NotFittedError("This separator has not seen a frame; there is nothing to save.")
    scene = separator._scene
    arrays: dict[str, Any] = {
        "detail": scene.detail,
        "scale": scene.noise.scale,
        "reference": scene.reference,
        "moving": scene.moving,
        "memory": scene.memory,
        "first": scene.light.first,
        "changes": np.array(scene.changes, dtype=np.int64),
    }
    if scene.kept:
        arrays["kept"] = np.array(scene.kept)
    if scene.light.waiting:
        arrays["waiting"] = np.array(scene.light.waiting)
    document: dict[str, Any] = {
        "parameters": packed_parameters(separator, arrays),
        "shape": list(separator._shape),
        "unit": scene.unit,
        "floor": scene.noise.floor,
        "n_noisy": scene.noise.n_frames,
        **{name: getattr(scene, name) for name in _COUNTS},
    }
    if scene.light.estimator is None:
        return arrays, document
    inner, document["light"] = pack(scene.light.estimator)
    return arrays | {f"light.{name}": values for name, values in inner.items()}, document


def unpack_separator(contents: Contents) -> Any:
    """The separator again; it goes on as if it had never been a file."""
    separator = unpacked_model(contents)
    shape = _shape(contents)
    height, width = shape[:2]
    colours = shape[2] if len(shape) == 3 else 1
    side = cell_side(height, width)
    rows, columns = -(-height // side), -(-width // side)
    n_cells, filled = rows * columns * colours, (rows * side, columns * side)

    def picture(name: str, *more: int) -> Array:
        return contents.array(name, (*filled, *more), ("float32",))

    def frames(name: str) -> Array:
        return contents.array(name, (None, *filled, colours), ("float32",))

    waiting: tuple[Array, ...] = ()
    if "waiting" in contents.arrays:
        waiting = tuple(contents.array("waiting", (None, n_cells), ("float32",)))
    kept = tuple(frames("kept")) if "kept" in contents.arrays else ()
    estimator = unpack(contents.inner("light")) if "light" in contents.document else None
    if estimator is not None and getattr(estimator, "n_features_in_", None) != n_cells:
        raise contents.error("the model of its light has cells of other frames")
    unit = contents.number("unit")
    if unit <= 0:
        raise contents.error("its unit is not above zero")
    scene = Scene(
        unit,
        side,
        Light(contents.array("first", (n_cells,), ("float32",)), estimator, waiting),
        picture("detail", colours),
        PixelNoise(picture("scale"), contents.number("floor"), contents.integer("n_noisy")),
        picture("reference", colours),
        contents.array("moving", filled, ("bool",)),
        frames("memory"),
        kept=kept,
        changes=tuple(contents.array("changes", (None,), ("int64",)).tolist()),
        **{name: contents.integer(name) for name in _COUNTS},
    )
    return separator._adopt(scene, shape)


def _shape(contents: Contents) -> tuple[int, ...]:
    shape = contents.value("shape")
    whole = isinstance(shape, list) and all(type(n) is int and 1 <= n < 1 << 20 for n in shape)
    if not whole or len(shape) not in (2, 3) or shape[2:] not in ([], [3]):
        raise contents.error("its frames have no shape")
    return tuple(shape)
