"""Images in, segments out: paper C, section 5.3.2."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from thresher.estimators import SymmetricManhattanNMF
from thresher.estimators.parameters import COUNT, POSITIVE, SEED
from thresher.estimators.reports import write_report
from thresher.estimators.saving import pack, packed_parameters, unpack, unpacked_model
from thresher.linalg import Array
from thresher.persistence import Contents
from thresher.tasks.segmentation.superpixels import checked_image, superpixels

_MOST_SUPERPIXELS = 2000  # every pair has a similarity: 32 MB of them; by judgement
_LEARNED = ("labels", "superpixels", "similarity", "embedding")


def image_similarity(
    features: Array,
    locations: Array,
    feature_scale: float = 0.3,
    location_scale: float = 0.7,
    radius: float | None = None,
) -> Array:
    r"""Similarity (62) of places in an image: by what they look like, and by how near they are.

    .. math::

        w_{ij} = \begin{cases}
            e^{-d_F(i,j)^2 / \delta_F^2} \, e^{-d_L(i,j)^2 / \delta_L^2} & d_L(i, j) \le r \\
            0 & \text{otherwise}
        \end{cases}

    Distances of features :math:`d_F` and of locations :math:`d_L` are divided by the largest of
    each, so that scales are shares of it.

    Parameters
    ----------
    features : array of shape (n, F)
    locations : array of shape (n, 2)
    feature_scale, location_scale : float
        δ_F and δ_L.
    radius : float, optional
        r, a share of the largest distance; by default the median of :math:`d_L`, over all pairs (i,
        j) with i = j among them. A short one leaves nearly everything zero, and then H = 0 is the
        best ℓ1 fit (errata C.8).

    Returns
    -------
    array of shape (n, n)
    """
    d_F, d_L = (_over_largest(pdist(points)) for points in (features, locations))
    d_F, d_L = squareform(d_F), squareform(d_L)
    reach = np.median(d_L) if radius is None else radius
    W = np.exp(-((d_F / feature_scale) ** 2) - (d_L / location_scale) ** 2)
    return np.asarray(W * (d_L <= reach))


def normalised(W: Array) -> Array:
    r""":math:`D^{-1/2} W D^{-1/2}`, with the sums of the rows in the diagonal matrix D."""
    root = np.sqrt(W.sum(axis=1))
    return np.asarray(W / np.outer(root, root))


class ImageSegmenter(ClusterMixin, BaseEstimator):
    r"""Cut an image into segments that look alike and lie together.

    Patches of the image are compared by `image_similarity`; the normalised similarities are
    factorised, :math:`D^{-1/2} W D^{-1/2} \approx H H^T`, in the Manhattan distance, and k-means
    parts the rows of H.

    Parameters
    ----------
    n_segments : int
        Segments to find.
    n_components : int
        Columns of H. Ignored if ``model`` is given.
    n_superpixels : int
        Patches, about, at most 2000: every pair of them has a similarity. An image with fewer
        pixels is compared pixel by pixel.
    features : "brightness" or "colour"
        What patches are compared by: brightness, as in the paper, or CIELAB.
    feature_scale, location_scale, radius : float
        Of the similarity; the defaults are the paper's. ``radius=1`` lets all patches count as
        near: a wide region then stays in one piece.
    model : estimator, optional
        What factorises: anything with ``fit_transform(similarities)``; a copy of it is fitted. By
        default ``SymmetricManhattanNMF(n_components)``.
    random_state : int, RandomState or None
    verbose : int
        1 shows a progress bar on a terminal for anything that takes over two seconds.

    Attributes
    ----------
    labels_ : array of int, shape (height, width)
        The segment of each pixel, from 0.
    superpixels_ : array of int, shape (height, width)
        The patch of each pixel.
    similarity_ : array of shape (n, n)
        W, before it is normalised.
    embedding_ : array of shape (n, n_components)
        H: a row for each patch.
    model_ : estimator
        What factorised.

    Notes
    -----
    N. Guan, D. Tao, Z. Luo and J. Shawe-Taylor, "MahNMF: Manhattan non-negative matrix
    factorization", arXiv 1207.3438, section 5.3.2. What it reaches: docs/lab/segmentation.md.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import ImageSegmenter
    >>> image = np.zeros((12, 16))
    >>> image[:, 8:] = 1.0
    >>> ImageSegmenter(2, random_state=0).fit(image).labels_[0, [0, 7, 8, 15]].tolist()
    [0, 0, 1, 1]
    """

    labels_: NDArray[np.int64]
    superpixels_: NDArray[np.int64]
    similarity_: Array
    embedding_: Array
    model_: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_segments": [COUNT],
        "n_components": [COUNT],
        "n_superpixels": [COUNT],
        "feature_scale": [POSITIVE],
        "location_scale": [POSITIVE],
        "radius": [POSITIVE, None],
        "random_state": SEED,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_segments: int = 3,
        *,
        n_components: int = 5,
        n_superpixels: int = 1000,
        features: str = "brightness",
        feature_scale: float = 0.3,
        location_scale: float = 0.7,
        radius: float | None = None,
        model: Any = None,
        random_state: Any = None,
        verbose: int = 1,
    ) -> None:
        self.n_segments = n_segments
        self.n_components = n_components
        self.n_superpixels = n_superpixels
        self.features = features
        self.feature_scale = feature_scale
        self.location_scale = location_scale
        self.radius = radius
        self.model = model
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, image: Any, y: Any = None) -> Self:
        """Segment an image.

        Parameters
        ----------
        image : array of shape (height, width) or (height, width, 3)
            Grey or in colour; bytes, or numbers between 0 and 1.
        y : ignored
        """
        self._check_parameters()
        pixels = checked_image(image)
        patches = superpixels(pixels, self.n_superpixels, self.features)
        n = len(patches.features)
        if n < self.n_segments:
            raise ValueError(
                f"{n} patches cannot make {self.n_segments} segments; ask for fewer segments, or "
                "raise n_superpixels."
            )
        W = image_similarity(
            patches.features,
            patches.locations,
            self.feature_scale,
            self.location_scale,
            self.radius,
        )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        model = self._factoriser(n, seed)
        H = np.asarray(model.fit_transform(normalised(W)))  # not as a frame
        found = cluster_rows(H, self.n_segments, seed)

        self.model_, self.similarity_, self.embedding_ = model, W, H
        self.superpixels_, self.labels_ = patches.patch, found[patches.patch]
        self.n_features_in_ = pixels.shape[1]
        return self

    def fit_predict(self, image: Any, y: Any = None) -> NDArray[np.int64]:
        """Segment an image, and return the segment of each pixel."""
        return self.fit(image).labels_.copy()

    def report(self, path: str | Path, image: Any = None) -> Path:
        """Write a page that shows the segments, and return its path.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        image : array, optional
            The image that was segmented, to draw borders over.
        """
        return write_report(self, self._page(image), path, "fit(image)")

    def _page(self, image: Any = None) -> Any:
        check_is_fitted(self, "labels_")
        # Pictures are drawn with matplotlib, which segmenting does not need.
        from thresher.tasks.segmentation.report import segment_report

        return segment_report(self, image)

    # ------------------------------------------------------------------- details

    def _packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For `thresher.save`."""
        if not hasattr(self, "model_"):
            raise NotFittedError("This segmenter has not been fitted; there is nothing to save.")
        inner, document = pack(self.model_)
        arrays = {f"model.{name}": values for name, values in inner.items()}
        arrays |= {name: np.asarray(getattr(self, f"{name}_")) for name in _LEARNED}
        return arrays, {"parameters": packed_parameters(self, arrays), "model": document}

    @classmethod
    def _unpacked(cls, contents: Contents) -> Self:
        """For `thresher.load`."""
        segmenter: Self = unpacked_model(contents)
        segmenter.model_ = unpack(contents.inner("model"))
        H = contents.array("embedding", (None, None), ("float32", "float64"))
        n = len(H)
        segmenter.embedding_, segmenter.similarity_ = H, contents.array("similarity", (n, n))
        patches = contents.array("superpixels", (None, None), ("int64",))
        labels = contents.array("labels", patches.shape, ("int64",))
        limits = (patches, n), (labels, segmenter.n_segments)
        if not patches.size or any(V.min() < 0 or V.max() >= most for V, most in limits):
            raise contents.error("its patches or segments have numbers that do not exist")
        segmenter.superpixels_, segmenter.labels_ = patches, labels
        segmenter.n_features_in_ = patches.shape[1]
        return segmenter

    def _factoriser(self, n: int, seed: int) -> Any:
        if self.model is not None:
            return clone(self.model)
        return SymmetricManhattanNMF(
            min(self.n_components, n), random_state=seed, verbose=self.verbose
        )

    def _check_parameters(self) -> None:
        self._validate_params()
        unfit = isinstance(self.model, type) or not hasattr(self.model, "fit_transform")
        if self.model is not None and unfit:
            raise ValueError(
                f"model={self.model!r} cannot factorise: it needs fit_transform, like "
                "SymmetricManhattanNMF(5). Or leave it out."
            )
        if self.n_superpixels > _MOST_SUPERPIXELS:
            raise ValueError(
                f"n_superpixels={self.n_superpixels} is more than {_MOST_SUPERPIXELS}: every pair "
                "of patches has a similarity, and finer patches hardly change the segments."
            )


def cluster_rows(H: Array, n_clusters: int, seed: int) -> NDArray[np.int64]:
    """Clusters of the rows by k-means, numbered in the order in which they first appear."""
    found = KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(H)
    _, first, label = np.unique(found, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return np.asarray(order[label], dtype=np.int64)


def _over_largest(distances: Array) -> Array:
    largest = distances.max(initial=0.0)
    return np.asarray(distances / largest if largest > 0 else distances)
