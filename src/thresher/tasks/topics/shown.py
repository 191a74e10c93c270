"""What a model of topics tells of them: words, names, shares, measures, a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from thresher.estimators.parameters import COUNT, check_argument
from thresher.estimators.reports import write_report
from thresher.linalg import Array
from thresher.metrics import TopicCoherence, topic_coherence
from thresher.tasks.text.tfidf import TfIdf
from thresher.tasks.topics.names import MOST_WORDS, Topic, topic_names


class ShowsTopics:
    """`topics_`, `top_words`, `document_topics`, `coherence` and `report`."""

    components_: Array
    words_: NDArray[np.object_]
    tfidf_: TfIdf | None
    _counter: Any
    _life: Any
    _shares_of: Any

    @property
    def topics_(self) -> list[Topic]:
        """Name, top eight words and their shares, for each topic."""
        words, names = self.top_words(), self._names()
        weights = [sorted(row, reverse=True)[:8] for row in self.components_.tolist()]
        return [
            Topic(name, top, share[: len(top)])
            for name, top, share in zip(names, words, weights, strict=True)
        ]

    def top_words(self, n: int = 8) -> list[list[str]]:
        """The words that weigh most in each topic, best first; words of no weight are left out."""
        check_is_fitted(self, "components_")
        check_argument("top_words", [COUNT], n=n)
        tops = []
        for row in self.components_:
            order = np.argsort(-row, kind="stable")[:n]
            tops.append([str(word) for word in self.words_[order[row[order] > 0]]])
        return tops

    def document_topics(self, documents: Any, n: int = 3) -> list[list[tuple[str, float]]]:
        """Names and shares of the largest topics of each document, largest first."""
        check_argument("document_topics", [COUNT], n=n)
        names = self._names()
        return [
            [(names[topic], float(row[topic])) for topic in np.argsort(-row, kind="stable")[:n]]
            for row in self._shares_of(documents)
        ]

    def coherence(self, documents: Any, n_words: int = 10) -> TopicCoherence:
        """How much the top words of topics keep company in documents, from -1 to 1.

        Parameters
        ----------
        documents : sequence of str, or table of counts
            Preferably not those that the topics were learned from.
        n_words : int
            Words of each topic that count.

        Returns
        -------
        TopicCoherence
            ``per_topic`` and ``mean``; see `thresher.metrics.topic_coherence`.
        """
        check_is_fitted(self, "components_")
        return topic_coherence(self.components_, self._counts(documents), n_words)

    def _counts(self, documents: Any) -> Any:
        """How often the words of the topics stand in documents."""
        counts = self._counter.counts(documents)
        return counts if self.tfidf_ is None else counts[:, self.tfidf_.selected_]

    def report(self, path: str | Path, documents: Any = None, over_time: Any = None) -> Path:
        """Write a page with pictures of the topics, and return its path.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        documents : sequence of str, or table of counts, optional
            If given, the page also tells how large the topics are in them, how coherent, and which
            documents are typical.
        over_time : TopicsOverTime, optional
            What `topics_over_time` gave, to show when topics came and went.
        """
        return write_report(self, self._page(documents, over_time), path, "fit(documents)")

    def _page(self, documents: Any = None, over_time: Any = None) -> Any:
        check_is_fitted(self, "components_")
        # Pictures are drawn with matplotlib, which learning does not need.
        from thresher.tasks.topics.report import topic_report

        return topic_report(self, documents, over_time)  # type: ignore[arg-type]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the topics, for data frames."""
        return np.array(self._names(), dtype=object)

    def _names(self) -> list[str]:
        """Of topics that live, the names that they were given."""
        if self._life is not None:
            return list(self._life.names)
        return topic_names(self.top_words(MOST_WORDS))
