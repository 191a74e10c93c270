"""Verbs on sources: batch by batch, given back one by one or written to files."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial, wraps
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_feature_names_in

from thresher.cluster import collection_source, is_collection
from thresher.estimators.agreed_names import names_agree
from thresher.streams import Source, as_source, is_stream
from thresher.streams.reader import TWICE
from thresher.streams.writing import About, write_results

OF_A_SAMPLE = {
    "score_samples": np.dtype(np.float64),
    "decision_function": np.dtype(np.float64),
    "predict": np.dtype(np.int64),
}
"""Verbs that give one value for each sample, and its type."""


def comes_in_parts(X: Any) -> bool:
    """Whether X is read part by part: a stream, or an array or data frame of Dask's."""
    return is_stream(X) or is_collection(X)


def source_of(X: Any) -> Source:
    """What a verb was given that comes in parts, as a source."""
    return collection_source(X) if is_collection(X) else as_source(X)


class Results:
    """What a verb says of a source, batch by batch: iterating reads the source and works.

    As often as the source can be read. Nothing is kept.
    """

    def __init__(self, source: Source, work: Callable[[Any], Any], agreed: bool = False) -> None:
        self._source, self._work = source, work
        self._agreed = agreed or source.names is not None

    @property
    def n_samples(self) -> int | None:
        """How many samples there will be results of, if that is known."""
        return self._source.n_samples

    def __iter__(self) -> Iterator[Any]:
        for piece in self._source:
            with names_agree(self._agreed):
                result = self._work(piece)
            yield result


class ReadsSources:
    """A model whose verbs take sources, and write what comes of them."""

    components_: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # scikit-learn makes frames of what `transform` gives; here each batch is one by itself.
        contained = vars(cls).get("transform")
        plain = getattr(contained, "__wrapped__", None)
        if contained is None or plain is None:
            return

        @wraps(contained)
        def transform(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
            batchwise = comes_in_parts(X) or kwargs.get("write") is not None
            return (plain if batchwise else contained)(self, X, *args, **kwargs)

        cls.transform = transform  # type: ignore[attr-defined]

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn, then code the same samples; of a source, as `transform` gives them."""
        model: Any = self
        if comes_in_parts(X):
            self._check_is_read_again(X)
            return model.fit(X, y, **fit_params).transform(X)
        return super().fit_transform(X, y, **fit_params)  # type: ignore[misc]

    def _check_is_read_again(self, X: Any) -> None:
        if isinstance(X, Iterator) or getattr(getattr(X, "reader", None), "once", False):
            raise ValueError(TWICE)  # the second time it would be empty

    def _check_names(self, source: Source) -> None:
        """Refuse columns of other names, or in another order, than those that were learned."""
        known = getattr(self, "feature_names_in_", None)
        if known is None or source.names is None or list(known) == source.names:
            return
        raise ValueError(
            f"The feature names should match those that were passed during fit: "
            f"{_some(list(known))}; the source has {_some(source.names)}. Choose them with "
            "thresher.open(..., columns=[...])."
        )

    def _by_batch(
        self, verb: str, X: Any, write: Any, entry_weight: Any = None, **options: Any
    ) -> Any:
        """A verb on every batch: `Results`, or the paths that they were written to.

        Of a Dask collection, one that is not computed yet, or a list of several.
        """
        if entry_weight is not None:
            raise ValueError(
                "entry_weight cannot be matched to a source; call the method with each batch and "
                "its weights instead."
            )
        model: Any = self
        if write is None and is_collection(X):
            from thresher.estimators.lazy_verbs import lazily

            results = lazily(model, verb, X, options)
            return results if len(results) > 1 else results[0]
        agreed = not comes_in_parts(X) and not isinstance(X, np.ndarray)
        source = source_of(model._checked(X, known=True) if agreed else X)
        self._check_names(source)
        if source.batch_size is None and source.reader.uneven and not source.window:
            source = source.in_batches(1 << 62)  # each array as it comes
        source = source.sized(len(self.components_))
        work = partial(getattr(self, verb), **options)
        expands = verb in ("separate", "reading_scores")
        if expands and model.implicit_zeros == "observed":
            batches = Results(source, lambda piece: work(_dense(piece)), agreed)
        else:
            batches = Results(source, work, agreed)
        if write is None:
            return batches
        return write_results(batches, write, self._about(verb, source), source.reader.paths)

    def _about(self, verb: str, source: Source) -> About | Mapping[str, About]:
        model: Any = self
        if verb in OF_A_SAMPLE:
            return About(["score" if verb == "score_samples" else verb])
        codes = About(list(model.get_feature_names_out()))
        if verb == "transform":
            return codes
        names = source.names or list(_check_feature_names_in(model))
        samples = About(names, source.sample_shape, source.reader.rate)
        if verb in ("impute", "reading_scores"):
            return samples
        return {"low_rank": samples, "outliers": samples, "codes": codes}


def all_of(values: Any) -> Any:
    """Results of all batches, or of a Dask collection, as one array."""
    if is_collection(values):
        return np.asarray(values.compute())
    return np.concatenate(list(values)) if isinstance(values, Results) else values


def _dense(piece: Any) -> Any:
    rows: Any = piece
    return rows.toarray() if sparse.issparse(piece) else piece


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
