"""The page about a fitted model: its parts first, then how well they fit and how it learned."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from thresher.engine import History
from thresher.estimators.parameters import defaults_of
from thresher.linalg import Array, as_dense
from thresher.plotting import atom_grid, bar_panels, convergence_curve, for_page, profile_panels
from thresher.report import Report

_MOST_ATOMS = 24  # shown; by judgement
_MOST_FEATURES = 8  # named for each
_MOST_SAMPLES, _MOST_ENTRIES = 1000, 20_000_000  # that the fit is measured on
_MOST_OF_IT = 0.9
_MOST_EVENTS = 20


def model_page(model: Any, X: Any = None, shape: Sequence[int] | None = None) -> Report:
    """Tell what a model learned, without an end: how to make it again is not known here.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : array-like or CSR of shape (n, F), optional
        Samples to measure the fit on; of many, a thousand at equal distances.
    shape : (height, width) or (height, width, 3), optional
        Of samples that are pictures.
    """
    K, F = model.components_.shape
    history: History = model.history_
    report = Report(
        f"{K} parts of {F:,} features",
        f"{type(model).__name__} takes every sample for a sum of these parts, in amounts of its "
        "own." + _purpose(model),
        f"Thresher {version('thresher')} · {type(model).__name__}",
    )
    facts = [(f"{history[-1].seconds:.2g} s", "of learning")] if len(history) else []
    seen = _samples_seen(model)
    if seen is not None:
        facts.insert(0, seen)
    if hasattr(model, "outlier_weight_"):
        weight = f"{model.outlier_weight_:.3g}"
        facts.append((weight, "outlier weight λ: what lies further off is set aside"))
    fit = _fit_of(model, X) if X is not None and hasattr(model, "certificates") else None
    report.facts(facts if fit is None else facts + _fit_facts(fit))
    report.heading("The parts")
    tell_atoms(report, model, shape)
    in_rounds = not hasattr(model, "partial_fit")
    tell_learning(report, history, getattr(model, "tol", None), in_rounds)
    report.heading("What was asked, and what runs")
    report.reasons(_asked(model))
    return report


def model_lines(model: Any, call: str = "fit(X)") -> str:
    """The lines of Python that make such a model again, by a call of it."""
    given = ", ".join(
        f"{name}={getattr(model, name)!r}"
        for name, default in defaults_of(model).items()
        if repr(getattr(model, name)) != repr(default)
    )
    name = type(model).__name__
    lines = f"from thresher import {name}\n\nmodel = {name}({given})"
    return f"{lines}.{call}" if call.startswith("fit(") else f"{lines}\nmodel.{call}"


def tell_learning(
    report: Report, history: History, tol: float | None = None, in_rounds: bool = False
) -> None:
    """The loss of each step, or round, how exact codes were, and what was noticed in the data."""
    if not len(history):
        return
    samples, loss = history.column("samples"), history.column("loss")
    falling = len(history) > 1
    rounds = in_rounds or (falling and bool((np.diff(samples) == 0).any()))
    step = "round" if in_rounds else "step"
    report.heading("How it learned")
    if falling:
        report.picture(
            for_page(
                lambda: convergence_curve(
                    np.arange(1, len(history) + 1) if rounds else samples,
                    loss,
                    sample_name="rounds" if rounds else "samples seen",
                    legend=(f"each {step}", "running mean", ""),
                )
            ),
            f"Mean loss per sample, from {loss[0]:.4g} in the first {step} to {loss[-1]:.4g} in "
            "the last",
            f"Mean loss per sample of each {step}"
            + (
                ": the lower, the better."
                if in_rounds
                else ", before the parts moved: the lower, the better."
            ),
        )
    ends = [history[0], history[-1]] if falling else [history[0]]
    report.table(
        ["", f"first {step}", f"last {step}"] if falling else ["", f"the only {step}"],
        [
            ["mean loss per sample", *(f"{row.loss:.4g}" for row in ends)],
            ["certificate of its codes", *(f"{row.certificate:.2g}" for row in ends)],
            ["change of the parts", *(f"{row.change:.2g}" for row in ends)],
        ],
        caption="A certificate is how far codes are from optimal; 0 is exact. Codes to learn from "
        "need not be exact"
        + ("." if tol is None else f": those of transform are, to tol={tol:g} or better."),
    )
    if history.events:
        report.table(
            ["after samples", "what happened", "p-value, ratio of losses, or new value"],
            [[f"{n:,}", kind, f"{value:.3g}"] for n, kind, value in history.events[-_MOST_EVENTS:]],
            caption="Drift: losses rose (shift), and a new dictionary then replaced the old one or "
            "the old one was kept. Changes by hand: a new outlier weight or half-life.",
        )


def _samples_seen(model: Any) -> tuple[str, str] | None:
    """Number of samples seen and its label; None if unknown."""
    history = getattr(model, "history_", None)
    if hasattr(model, "partial_fit") and hasattr(model, "n_samples_seen_"):
        return f"{model.n_samples_seen_:,}", "samples seen, all passes together"
    if not history:
        return None
    return f"{history[0].samples:,}", f"samples, in {model.n_iter_:,} rounds"


def _purpose(model: Any) -> str:
    robust = hasattr(model, "outlier_weight_")
    return " What does not fit is set aside, entry by entry, as outliers." if robust else ""


class _Fit(NamedTuple):
    """Some samples, and what a model says of them."""

    samples: Array
    predicted: Array
    outliers: Array | None
    worst: float
    """The largest certificate of their codes."""


def _fit_of(model: Any, X: Any) -> _Fit:
    most = min(X.shape[0], _MOST_SAMPLES, max(_MOST_ENTRIES // X.shape[1], 1))
    rows = X[np.unique(np.linspace(0, X.shape[0] - 1, most).astype(int))]
    dense = np.asarray(as_dense(rows)[0], dtype=np.float64)
    outliers = None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        codes = np.asarray(model.transform(rows))
        worst = float(np.max(model.certificates(rows, codes)))
        if hasattr(model, "separate"):
            outliers = np.asarray(model.separate(dense).outliers)
    return _Fit(dense, codes @ model.components_, outliers, worst)


def _fit_facts(fit: _Fit) -> list[tuple[str, str]]:
    """How well samples are explained, and how exact their codes are."""
    samples, facts = fit.samples, []
    left = samples - fit.predicted
    if fit.outliers is not None:
        facts.append(_outlier_fact(fit.outliers[~np.isnan(samples)]))
        left = left - np.nan_to_num(fit.outliers)
    size = float(np.linalg.norm(np.nan_to_num(samples)))
    missed = np.linalg.norm(np.nan_to_num(left)) / max(size, np.finfo(float).tiny)
    facts.append((f"{missed:.1%}", f"relative error of {len(samples):,} samples, by norm"))
    facts.append((f"{fit.worst:.1g}", "largest certificate of their codes; 0 is exact"))
    return facts


def _outlier_fact(outliers: Array) -> tuple[str, str]:
    """The share of entries that are set aside; where noise is among them, of those that matter."""
    share = np.count_nonzero(outliers) / max(outliers.size, 1)
    if share <= 0.5:
        return f"{share:.1%}", "of the entries are set aside as outliers"
    falling = np.sort(np.abs(outliers))[::-1]
    few = np.searchsorted(np.cumsum(falling), _MOST_OF_IT * falling.sum()) / outliers.size
    return (
        f"{few:.1%}",
        f"of the entries have {_MOST_OF_IT:.0%} of what is set aside; this model sets noise aside "
        f"too, in {share:.0%} of the entries",
    )


def tell_atoms(report: Report, model: Any, shape: Sequence[int] | None) -> None:
    """The parts of a model: as pictures, by the names of their features, or as profiles."""
    atoms: Array = model.components_
    shown, names = atoms[:_MOST_ATOMS], getattr(model, "feature_names_in_", None)
    rest = f" The first {len(shown)} of {len(atoms)}." if len(atoms) > len(shown) else ""
    titles = [f"part {number}" for number in range(1, len(shown) + 1)]
    if shape is not None and int(np.prod(shape)) == atoms.shape[1]:
        images = np.abs(shown).reshape(len(shown), *shape)
        images = images if images.ndim == 3 else images.mean(axis=-1)
        report.picture(
            for_page(lambda: atom_grid(images, titles=titles, n_columns=min(6, len(shown)))),
            f"{len(shown)} learned parts, as images",
            f"Each part from zero (black) to its own brightest value (white).{rest}",
        )
    elif names is not None:
        tops = [np.argsort(-np.abs(atom), kind="stable")[:_MOST_FEATURES] for atom in shown]
        tops = [top[atom[top] != 0] for top, atom in zip(tops, shown, strict=True)]
        labels = [
            [("−" if atom[f] < 0 else "") + str(names[f]) for f in top]
            for top, atom in zip(tops, shown, strict=True)
        ]
        bars = [
            (np.abs(atom[top]) / (np.abs(atom).max() or 1.0)).tolist()
            for top, atom in zip(tops, shown, strict=True)
        ]
        report.picture(
            for_page(lambda: bar_panels(titles, labels, bars)),
            "; ".join(f"{t}: {', '.join(n)}" for t, n in zip(titles, labels, strict=True)),
            f"The columns that weigh most in each part, relative to its largest one.{rest}",
        )
    else:
        report.picture(
            for_page(lambda: profile_panels(shown, titles)),
            f"{len(shown)} learned parts, as profiles along their features",
            f"Each part along its features, on its own scale.{rest}",
        )


def _asked(model: Any) -> list[tuple[str, str]]:
    reasons = [
        (f"{name} = {getattr(model, name)!r}", f"instead of the default, {default!r}")
        for name, default in defaults_of(model).items()
        if repr(getattr(model, name)) != repr(default) and name != "callbacks"
    ]
    if hasattr(model, "solver_"):
        reasons.append((f"solver = {model.solver!r}", model.explain()))
    return reasons
