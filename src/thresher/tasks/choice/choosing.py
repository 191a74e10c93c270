"""Choose settings of an estimator by how well hidden entries are told."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from thresher.engine import ProgressBar
from thresher.estimators.results import comes_in_parts
from thresher.linalg import Array
from thresher.metrics import factor_match_score
from thresher.tasks.choice.candidates import Settings, all_settings
from thresher.tasks.choice.choice import RULES, Choice
from thresher.tasks.choice.held_out import Tried, better, finalists, masks, tried
from thresher.tasks.choice.in_order import tried_in_order
from thresher.tasks.choice.samples import held_rows
from thresher.tasks.choice.topics import Documents, is_topic_model


def choose(
    estimator: Any,
    X: Any,
    *,
    n_components: Any = None,
    rule: str = "lowest",
    n_masks: int = 3,
    share: float = 0.1,
    warm: bool = True,
    refit: bool = True,
    random_state: int = 0,
    verbose: int = 1,
    **parameters: Any,
) -> Choice:
    """Find the number of parts, and other settings, that tell hidden entries best.

    Some rows are kept from learning; of these, some entries are hidden while the others are coded;
    and what the model says of the hidden ones is compared with what they were: the mean absolute
    error, in the unit of the data, as in `score_entries`. So numbers of parts, outlier weights,
    penalties and losses can be compared, and a glitch among the hidden entries counts no more than
    the candidates differ there. All candidates are tried on the same entries, under several masks.
    Few samples are learned from in smaller batches than the estimator has, since fits that have
    not settled like spare parts.

    If ``forgetting`` is among the settings, order matters: samples are read once, in their order,
    and entries of every batch are told before it is learned from. All candidates learn side by
    side.

    Parameters
    ----------
    estimator : estimator of the library, or TopicModel
        Its other parameters stay.
    X : array-like, CSR or data frame of shape (n, F), or a source (`thresher.open`)
        Samples, with NaN at gaps; for a `TopicModel`, documents. Of a source, rows at even
        distances are held in memory, at most 16 million entries.
    n_components : iterable of int, optional
        Numbers of parts to try, such as ``range(2, 40)``.
    rule : {"lowest", "one_se"}
        The lowest error (the fewest parts, where errors differ by less than a thousandth of their
        range); or the fewest parts that are behind it by no more than a standard error of the
        difference.
    n_masks : int
        How many times rows are kept apart; each time others, and no more than a fifth.
    share : float
        How much of the entries of these rows is hidden.
    warm : bool
        Whether a fit with more parts starts from the one with fewer, and from what is common to
        its residuals; a sixth of the candidates, the best, is then fitted anew as well, which
        counts where it is clearly better. Else all are fitted anew, which takes longer.
    refit : bool
        Whether ``best_`` is fitted to all samples.
    random_state : int
        Decides which rows and entries are hidden.
    verbose : int
        Whether to show progress.
    **parameters
        Values of other parameters to try, such as ``outlier_weight=["auto", "mad"]``,
        ``divergence=["kl", "squared_l2"]`` or ``forgetting=[None, 1000, 10_000]``.

    Returns
    -------
    Choice
        With ``best_``, ``best_params_``, ``table_`` and ``plot()``.

    Examples
    --------
    >>> import numpy as np
    >>> import thresher
    >>> rng = np.random.default_rng(0)
    >>> parts = rng.random((4, 24)) * (rng.random((4, 24)) < 0.5)
    >>> X = rng.gamma(1.0, size=(300, 4)) @ parts + 0.02 * rng.random((300, 24))
    >>> X[rng.random(X.shape) < 0.02] += 3.0
    >>> model = thresher.OnlineRobustNMF(batch_size=32, random_state=0)
    >>> thresher.choose(model, X, n_components=range(2, 8), verbose=0).best_params_
    {'n_components': 4}
    """
    if rule not in RULES:
        raise ValueError(f"rule={rule!r} is not known; use 'lowest' or 'one_se'.")
    if not isinstance(n_masks, int) or n_masks < 1:
        raise ValueError(f"n_masks={n_masks!r} must be a whole number, one at least.")
    given = parameters if n_components is None else {"n_components": n_components, **parameters}
    documents = Documents(estimator, X) if is_topic_model(estimator) else None
    learner, samples = (estimator, X) if documents is None else (documents.learner, documents.X)
    if not hasattr(learner, "_entry_errors"):
        raise TypeError(
            f"{type(estimator).__name__} cannot tell hidden entries; choose works for the "
            "estimators of the library and for TopicModel."
        )
    candidates = all_settings(learner, given)
    name = type(estimator).__name__
    results, rows = _tried(
        learner, candidates, samples, share, n_masks, warm, random_state, verbose
    )
    more: dict[str, Array] = {
        "stability": np.array([_stability([r.atoms for r in row]) for row in results]),
        "seconds": np.array([sum(r.seconds for r in row) for row in results]),
    }
    if documents is not None:
        more["coherence"] = np.array(
            [documents.coherence([r.atoms for r in row]) for row in results]
        )
    errors = np.array([np.concatenate([r.errors for r in row]) for row in results])
    choice = Choice(candidates, errors, rule, more, name)
    best = choice.best_params_
    choice.best_ = (
        clone(estimator).set_params(**best) if documents is None else documents.with_settings(best)
    )
    if not refit:
        return choice
    if rows is None:
        choice.best_ = results[choice.best_index_][0].model
    else:
        choice.best_.fit(X if documents is not None or not comes_in_parts(X) else rows)
    return choice


def _tried(
    learner: Any,
    candidates: list[Settings],
    X: Any,
    share: float,
    n_masks: int,
    warm: bool,
    seed: int,
    verbose: int,
) -> tuple[list[list[Tried]], Any]:
    """What came of each candidate under each mask; and the rows that were held, if any."""
    if "forgetting" in candidates[0]:
        total = None if comes_in_parts(X) else len(X) if hasattr(X, "__len__") else X.shape[0]
        with ProgressBar("choose: samples", total, verbose > 0) as bar:
            alone = tried_in_order(learner, candidates, X, share, seed, bar)
        return [[one] for one in alone], None
    rows = held_rows(X, learner)
    by_mask: list[list[Tried]] = []
    n_final = len(finalists(candidates, np.zeros(len(candidates)))) if warm else 0
    with ProgressBar("choose: fits", n_masks * (len(candidates) + n_final), verbose > 0) as bar:
        done = _Counter(bar)
        try:
            for number, pair in enumerate(masks(rows, n_masks, np.random.default_rng([seed, 0]))):
                given = (*pair, share, seed + 1 + number, warm, done)
                by_mask.append(tried(learner, candidates, *given))
            if warm and len(candidates) > 1:
                means = np.mean([[np.nanmean(r.errors) for r in row] for row in by_mask], axis=0)
                final = finalists(candidates, means)
                few = [candidates[place] for place in final]
                again = masks(rows, n_masks, np.random.default_rng([seed, 0]))
                for number, pair in enumerate(again):
                    given = (*pair, share, seed + 1 + number, False, done)
                    for place, one in zip(final, tried(learner, few, *given), strict=True):
                        by_mask[number][place] = better(by_mask[number][place], one)
        except KeyboardInterrupt:
            if not by_mask:
                raise
            warnings.warn(
                f"Interrupted: the choice goes by the {len(by_mask)} of {n_masks} masks that were "
                "done.",
                stacklevel=3,
            )
    return [list(row) for row in zip(*by_mask, strict=True)], rows


class _Counter:
    """Moves a bar on by one."""

    def __init__(self, bar: ProgressBar) -> None:
        self._bar, self._n = bar, 0

    def __call__(self) -> None:
        self._n += 1
        self._bar.update(self._n)


def _stability(dictionaries: list[Array]) -> float:
    """Mean cosine of the atoms of each two dictionaries, paired as well as can be."""
    pairs = [
        factor_match_score(one, other)
        for place, one in enumerate(dictionaries)
        for other in dictionaries[:place]
    ]
    return float(np.mean(pairs)) if pairs else float("nan")
