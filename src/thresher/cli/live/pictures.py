"""Arrays as small pictures inside of a page."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np

from thresher.linalg import Array

_WIDEST = 360  # pixels of a picture that is sent; by judgement
_SMALL = 4096  # pixels up to which a picture is sent as it is, without loss


def picture(values: Array, white: float, widest: int = _WIDEST) -> str:
    """A picture from zero (black) to ``white``, as an address that holds all of it.

    Parameters
    ----------
    values : array of shape (height, width) or (height, width, 3)
    white : float
    widest : int
        Pixels on the longer side; larger ones are made smaller.
    """
    from PIL import Image

    step = -(-max(values.shape[:2]) // (2 * widest))  # what is far too large is thinned first
    some = np.nan_to_num(np.asarray(values[::step, ::step], dtype=np.float32))
    levels = np.clip(some * np.float32(255 / white if white > 0 else 0), 0, 255)
    image: Any = Image.fromarray(levels.astype(np.uint8))
    image.thumbnail((widest, widest), Image.Resampling.BOX)
    target = io.BytesIO()
    kind = "PNG" if image.width * image.height <= _SMALL else "JPEG"
    image.save(target, format=kind, **({"quality": 80} if kind == "JPEG" else {}))
    text = base64.b64encode(target.getvalue()).decode()
    return f"data:image/{kind.lower()};base64,{text}"
