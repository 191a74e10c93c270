r"""What belongs where a pixel is damaged: what the model says, and what neighbours know.

A model of all pictures tells what a picture looks like, but not its finest detail; neighbours tell
that, but not what lies behind a large spot. So damaged pixels become what the model says plus what
sound pixels around them differ from it by. Single ones, most neighbours of which are sound, are
told better, by

.. math:: \hat x = \bar x_+ + a\,(\bar x_\times - \bar x_+) + b\,(m - \bar m_+)
          + c\,(\bar m_\times - \bar m_+),

means of the four pixels beside (:math:`+`) and at the corners (:math:`\times`), of the picture
:math:`x` and of the model :math:`m`. The pixel itself is not among them, so every sound pixel shows
how well it is told: :math:`a, b, c` are those of least squares over the sound pixels of a picture.
Where the model is of no use :math:`b` and :math:`c` vanish, and neighbours speak alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from thresher.linalg import Array

_REACH = 1.0  # pixels, standard deviation of the weights of neighbours
_ALONE = 0.05  # weight of the model itself beside theirs, so that it speaks alone inside of spots
_TURNS = 3  # a pixel beside another that is damaged is told again when that is filled


def repaired(pictures: Array, model: Array, wrong: NDArray[np.bool_], turns: int = _TURNS) -> Array:
    """The pictures with damaged pixels replaced; sound pixels stay as they are.

    Parameters
    ----------
    pictures, model : arrays of shape (n, height, width) or (n, height, width, 3)
    wrong : array of bool of shape (n, height, width)
        Which pixels are damaged; NaN are among them.
    turns : int
        How often single pixels are told again, from what their neighbours were filled with.
    """
    sound = sound_values(wrong, pictures)
    left = np.where(sound, pictures - model, 0)
    reach = (0, _REACH, _REACH, 0)[: left.ndim]
    weight = ndimage.gaussian_filter(sound.astype(left.dtype), reach, mode="nearest")
    nearby = ndimage.gaussian_filter(left, reach, mode="nearest") / (weight + _ALONE)
    filled: Array = np.where(sound, pictures, model + nearby)
    beside, corners = _neighbours(sound.astype(left.dtype))
    single = ~sound & (beside + corners > 1)  # more than half of the neighbours are sound
    for _ in range(turns):
        filled = np.where(single, told(filled, model, sound), filled)
    return filled


def told(filled: Array, model: Array, sound: NDArray[np.bool_]) -> Array:
    """What neighbours and the model say of each pixel, without the pixel itself."""
    beside, corners = _neighbours(filled)
    model_beside, model_corners = _neighbours(model)
    terms = np.stack([corners - beside, model - model_beside, model_corners - model_beside])
    known = np.where(sound, terms, 0).reshape(3, len(filled), -1)
    target = (filled - beside).reshape(len(filled), -1)
    gram = np.einsum("inp,jnp->nij", known, known)
    # A picture without any detail has no weights; zero are as good as others.
    trace = np.trace(gram, axis1=1, axis2=2)
    ridge = np.where(trace > 0, 1e-6 * trace, 1.0)
    gram += ridge[:, None, None] * np.eye(3)
    weights = np.linalg.solve(gram, np.einsum("inp,np->ni", known, target)[..., None])[..., 0]
    return np.asarray(beside + np.einsum("ni,in...->n...", weights.astype(terms.dtype), terms))


def sound_values(wrong: NDArray[np.bool_], pictures: Array) -> NDArray[np.bool_]:
    """Which values are sound: all colours of a pixel, or none."""
    sound = ~wrong if pictures.ndim == 3 else ~wrong[..., None]
    return np.broadcast_to(sound, pictures.shape)


def _neighbours(pictures: Array) -> tuple[Array, Array]:
    """Means of the four pixels beside each, and of the four at its corners."""
    padded = np.pad(pictures, [(0, 0), (1, 1), (1, 1), (0, 0)][: pictures.ndim], mode="edge")
    up, middle, down = padded[:, :-2], padded[:, 1:-1], padded[:, 2:]
    beside = up[:, :, 1:-1] + down[:, :, 1:-1] + middle[:, :, :-2] + middle[:, :, 2:]
    corners = up[:, :, :-2] + up[:, :, 2:] + down[:, :, :-2] + down[:, :, 2:]
    return beside / 4, corners / 4
