"""Who is in a picture: paper C, section 5.2, Algorithms 4 and 5."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    check_X_y,
    column_or_1d,
    validate_data,
)

from thresher.engine import translate_linalg_errors
from thresher.estimators import ManhattanNMF
from thresher.estimators.parameters import COUNT, SEED, KeepsParameters
from thresher.estimators.parts import PARAMETERS
from thresher.estimators.reports import write_report
from thresher.estimators.saving import (
    pack,
    pack_features,
    packed_parameters,
    unpack,
    unpack_features,
    unpacked_model,
)
from thresher.estimators.validation import as_matrix
from thresher.linalg import Array
from thresher.persistence import Contents

_METRICS = {"codes": "cosine", "projection": "euclidean"}


class FaceRecognizer(KeepsParameters, ClassifierMixin, BaseEstimator):
    r"""Give a picture the name of the known picture whose parts are mixed most alike.

    A dictionary :math:`D` is learned from the known pictures. Then, by ``method``,

    - ``"codes"`` (Algorithm 5, after Sandler and Lindenbaum): a picture x is coded as the model
      codes, :math:`c = \arg\min_{c \ge 0} d(x, cD)`, and the known picture of the *largest* cosine
      :math:`\langle c_l, c \rangle / (\|c_l\|_2 \|c\|_2)` gives its name (errata C.7);
    - ``"projection"`` (Algorithm 4): :math:`c = x D^\dagger`, of either sign, and the smallest
      distance :math:`\|c_l - c\|_2`.

    Parameters
    ----------
    model : estimator, optional
        What learns the dictionary: anything with `fit`, `transform` and ``components_``; a copy of
        it is fitted. By default ``ManhattanNMF(50)``.
    method : "codes" or "projection"
        Codes of an ℓ1 model see past what is spoiled in a picture; projections do not.
    n_neighbors : int
        Known pictures that vote; 1 in the paper.
    random_state : int, RandomState or None
        Seed of the default model.
    verbose : int
        1 shows a progress bar on a terminal for anything that takes over two seconds.

    Attributes
    ----------
    model_ : estimator
        With the dictionary.
    codes_ : array of shape (n, K)
        Of the known pictures.
    classes_ : array
        The names.

    Notes
    -----
    N. Guan, D. Tao, Z. Luo and J. Shawe-Taylor, "MahNMF: Manhattan non-negative matrix
    factorization", arXiv 1207.3438. Figures: docs/lab/paper_c.md.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import FaceRecognizer, ManhattanNMF
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(40) % 2
    >>> X = np.eye(2)[y] @ rng.random((2, 30)) * (1 + rng.random((40, 1)))
    >>> X[rng.random(X.shape) < 0.1] = 1.0  # white specks
    >>> model = ManhattanNMF(2, random_state=0)
    >>> FaceRecognizer(model).fit(X[:20], y[:20]).score(X[20:], y[20:])
    1.0
    """

    model_: Any
    codes_: Array
    classes_: NDArray[Any]
    _neighbours: Any
    _labels: NDArray[np.int64]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [COUNT],
        "random_state": SEED,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        model: Any = None,
        *,
        method: str = "codes",
        n_neighbors: int = 1,
        random_state: Any = None,
        verbose: int = 1,
    ) -> None:
        self.model = model
        self.method = method
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = self.method == "codes"
        return tags

    @translate_linalg_errors()
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from pictures with names.

        Parameters
        ----------
        X : array-like of shape (n, F)
            Pictures as rows of pixels, nonnegative; for ``"codes"``, NaN marks missing pixels.
        y : array-like of shape (n,)
            Who is in each.
        """
        self._check_parameters()
        finite = self._finite()
        pictures, names = check_X_y(
            as_matrix(X, self, ensure_all_finite=finite),
            y,
            ensure_all_finite=finite,
            ensure_min_samples=2,
            estimator=self,
        )
        check_classification_targets(names)
        names = column_or_1d(names)
        if self.n_neighbors > len(pictures):
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is more than the {len(pictures)} known pictures."
            )
        model = self._dictionary_model(pictures).fit(pictures)
        codes = self._codes(model, pictures)
        classes, labels = np.unique(names, return_inverse=True)
        self._adopt(model, codes, classes, labels.astype(np.int64))
        validate_data(self, X, reset=True, skip_check_array=True)
        return self

    @translate_linalg_errors()
    def predict(self, X: Any) -> NDArray[Any]:
        """Names for pictures."""
        check_is_fitted(self, "model_")
        self._check_goes_on()
        pictures = as_matrix(X, self, ensure_all_finite=self._finite())
        validate_data(self, X, reset=False, skip_check_array=True)
        codes = self._compared(self._codes(self.model_, pictures))
        return self.classes_[self._neighbours.predict(codes)]

    def report(
        self, path: str | Path, X: Any = None, y: Any = None, *, shape: Sequence[int] | None = None
    ) -> Path:
        """Write a page about the parts and, if pictures are given, who is taken for whom.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        X, y : array-like of shape (n, F) and (n,), optional
            Pictures with their true names, preferably others than those of `fit`.
        shape : (height, width), optional
            Of a picture: then parts are shown as pictures.
        """
        check_is_fitted(self, "model_")
        # Pictures are drawn with matplotlib, which recognising does not need.
        from thresher.tasks.recognition.report import recognition_report

        return write_report(self, recognition_report(self, X, y, shape), path, "fit(X, y)")

    # ------------------------------------------------------------------- details

    def _check_parameters(self) -> None:
        self._validate_params()
        if not isinstance(self.method, str) or self.method not in _METRICS:
            names = " or ".join(map(repr, _METRICS))
            raise ValueError(f"method={self.method!r} is not known; use {names}.")
        needed = ("fit", "transform", "get_params")
        usable = not isinstance(self.model, type) and all(hasattr(self.model, n) for n in needed)
        if self.model is not None and not usable:
            raise ValueError(
                f"model={self.model!r} cannot learn a dictionary: it needs fit, transform and "
                "components_, like ManhattanNMF(50). Or leave it out."
            )

    def _adopt(
        self, model: Any, codes: Array, classes: NDArray[Any], labels: NDArray[np.int64]
    ) -> Self:
        """Make a dictionary, known codes and their names the recogniser's own."""
        neighbours = KNeighborsClassifier(self.n_neighbors, metric=_METRICS[self.method])
        self._neighbours = neighbours.fit(self._compared(codes), labels)
        self.model_, self.codes_, self.classes_, self._labels = model, codes, classes, labels
        self._began_as = self._identity()
        return self

    def _packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For `thresher.save`."""
        if not hasattr(self, "model_"):
            raise NotFittedError("This recogniser has not been fitted; there is nothing to save.")
        inner, document = pack(self.model_)
        arrays = {f"model.{name}": values for name, values in inner.items()}
        arrays |= {"codes": self.codes_, "labels": self._labels}
        pack_features(self, arrays)
        parameters = packed_parameters(self, arrays)
        classes = PARAMETERS.pack("classes", self.classes_, arrays)
        return arrays, {"parameters": parameters, "classes": classes, "model": document}

    @classmethod
    def _unpacked(cls, contents: Contents) -> Self:
        """For `thresher.load`."""
        recogniser: Self = unpacked_model(contents)
        model = unpack(contents.inner("model"))
        atoms, classes = model.components_, PARAMETERS.unpack(contents.value("classes"), contents)
        if not isinstance(classes, np.ndarray) or classes.ndim != 1:
            raise contents.error("its names are no list of names")
        codes = contents.array("codes", (None, len(atoms)), ("float32", "float64"))
        labels = contents.places("labels", len(codes), len(classes)).astype(np.int64)
        if len(codes) < max(2, recogniser.n_neighbors):
            raise contents.error(f"{len(codes)} known pictures are too few")
        unpack_features(recogniser, contents, atoms.shape[1])
        return recogniser._adopt(model, codes, classes, labels)

    def _finite(self) -> str | bool:
        return "allow-nan" if self.method == "codes" else True

    def _dictionary_model(self, X: Array) -> Any:
        if self.model is not None:
            return clone(self.model)
        K = min(50, *X.shape)
        return ManhattanNMF(K, random_state=self.random_state, verbose=self.verbose)

    def _compared(self, codes: Array) -> Array:
        """Scale each row to a maximum of one: scikit-learn's cosines take short rows for zero."""
        if self.method != "codes":
            return codes
        largest = np.abs(codes).max(axis=1, keepdims=True)
        return np.asarray(codes / np.where(largest > 0, largest, 1))

    def _codes(self, model: Any, X: Array) -> Array:
        if self.method == "codes":
            return np.asarray(model.transform(X))
        D = check_array(model.components_, dtype=[np.float64, np.float32])
        return np.asarray(X @ np.linalg.pinv(D))
