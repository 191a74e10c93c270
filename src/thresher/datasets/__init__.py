"""Synthetic data whose truth is returned with them, and loaders of files that the user has."""

from .divergence_stream import DivergenceStream, make_divergence_stream
from .faces import Faces, load_faces
from .image_noise import (
    add_gaussian,
    add_laplace,
    image_noises,
    occlude,
    poisson,
    salt_and_pepper,
)
from .orthogonal_stream import OrthogonalStream, make_orthogonal_stream
from .outlier_stream import OutlierStream, make_outlier_stream
from .spectral_scene import SpectralScene, make_spectral_scene
from .surveillance import SurveillanceScene, make_surveillance_scene
from .text import TextCounts, load_text_counts

__all__ = [
    "DivergenceStream",
    "Faces",
    "OrthogonalStream",
    "OutlierStream",
    "SpectralScene",
    "SurveillanceScene",
    "TextCounts",
    "add_gaussian",
    "add_laplace",
    "image_noises",
    "load_faces",
    "load_text_counts",
    "make_divergence_stream",
    "make_orthogonal_stream",
    "make_outlier_stream",
    "make_spectral_scene",
    "make_surveillance_scene",
    "occlude",
    "poisson",
    "salt_and_pepper",
]
