"""Reports on fitted models: atoms, fit, learning history and parameters.

Pictures are drawn with matplotlib, which learning does not need, so it is imported when a report is
made.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thresher.engine import History
from thresher.estimators.parameters import changed_parameters
from thresher.estimators.validation import as_matrix
from thresher.linalg import Array, as_dense
from thresher.persistence import write_atomically
from thresher.report import Report, tell_run

# How much of a model or of its samples a report shows; heuristic.
_MAX_ATOMS, _MAX_FEATURES, _MAX_EVENTS = 24, 8, 20
_MAX_SAMPLES, _MAX_ENTRIES = 1000, 20_000_000


def write_report(model: Any, report: Report, path: str | Path, call: str = "fit(X)") -> Path:
    """Write a report on a model, which ends with the code that makes the model again.

    Parameters
    ----------
    model : estimator
    report : Report
    path : str or Path
        The HTML file.
    call : str
        The method that was called.
    """
    name, target = type(model).__name__, Path(path)
    given = ", ".join(f"{key}={value!r}" for key, value in changed_parameters(model).items())
    lines = f"from thresher import {name}\n\nmodel = {name}({given})"
    dot = "." if call.startswith("fit(") else "\nmodel."
    tell_run(report, (), f"{lines}{dot}{call}")
    write_atomically(target, report.html().encode())
    return target


def model_report(model: Any, X: Any = None, shape: Sequence[int] | None = None) -> Report:
    """Return the report on a fitted model, without the code that makes it again.

    Parameters
    ----------
    model : estimator
    X : array-like or CSR of shape (n, F), optional
        Samples to measure the fit on; of many, a thousand at equal distances.
    shape : (height, width) or (height, width, 3), optional
        Of samples that are images.
    """
    check_is_fitted(model, "components_")
    (K, F), name, history = model.components_.shape, type(model).__name__, model.history_
    robust, online = hasattr(model, "outlier_weight_"), hasattr(model, "partial_fit")
    lead = f"{name} represents each sample as a weighted sum of these parts."
    if robust:
        lead += " Entries that do not fit are separated as outliers."
    report = Report(
        f"{K} parts of {F:,} features", lead, f"Thresher {version('thresher')} · {name}"
    )
    facts = []
    if online:
        facts.append((f"{model.n_samples_seen_:,}", "samples seen, in all passes"))
    elif len(history):
        facts.append((f"{history[0].samples:,}", f"samples, in {model.n_iter_:,} rounds"))
    if len(history):
        facts.append((f"{history[-1].seconds:.2g} s", "of learning"))
    if robust:
        facts.append((f"{model.outlier_weight_:.3g}", "outlier weight λ"))
    if X is not None and hasattr(model, "certificates"):
        X = as_matrix(X, model, accept_sparse="csr", ensure_all_finite="allow-nan")
        facts += _fit_facts(model, X)
    report.facts(facts).heading("Parts")
    add_atoms(report, model, shape)
    add_history(report, history, model.tol, in_rounds=not online)
    defaults = signature(type(model)).parameters
    reasons = [
        (f"{key} = {value!r}", f"instead of the default, {defaults[key].default!r}")
        for key, value in changed_parameters(model).items()
        if key != "callbacks"
    ]
    if hasattr(model, "solver_"):
        reasons.append((f"solver = {model.solver!r}", model.explain()))
    report.heading("Parameters and methods").reasons(reasons)
    return report


def _fit_facts(model: Any, X: Any) -> list[tuple[str, str]]:
    """How well samples are explained, and how exact their codes are."""
    most = min(X.shape[0], _MAX_SAMPLES, max(_MAX_ENTRIES // X.shape[1], 1))
    rows = X[np.unique(np.linspace(0, X.shape[0] - 1, most).astype(int))]
    samples = np.asarray(as_dense(rows)[0], dtype=np.float64)
    facts = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        codes = np.asarray(model.transform(rows))
        residual = samples - codes @ model.components_
        if hasattr(model, "separate"):
            outliers = np.asarray(model.separate(samples).outliers)
            residual -= np.nan_to_num(outliers)
            n_observed = int(np.count_nonzero(~np.isnan(samples)))
            share = int(np.count_nonzero(outliers)) / max(n_observed, 1)
            facts.append((f"{share:.1%}", "of the entries are set aside as outliers"))
        worst = float(np.max(model.certificates(rows, codes)))
    size = float(np.linalg.norm(np.nan_to_num(samples)))
    error = np.linalg.norm(np.nan_to_num(residual)) / max(size, np.finfo(float).tiny)
    facts.append((f"{error:.1%}", f"relative error of {len(samples):,} samples, by norm"))
    facts.append((f"{worst:.1g}", "largest certificate of their codes; 0 is exact"))
    return facts


def add_history(
    report: Report, history: History, tol: float | None = None, in_rounds: bool = False
) -> None:
    """Add the loss of each step or round, the certificates, and the events of a history."""
    if not len(history):
        return
    from thresher.plotting import convergence_curve, for_page

    loss, step = history.column("loss"), "round" if in_rounds else "step"
    report.heading("Learning")
    if len(history) > 1:
        x = np.arange(1, len(history) + 1) if in_rounds else history.column("samples")
        name, legend = (
            "rounds" if in_rounds else "samples seen",
            (f"each {step}", "running mean", ""),
        )
        report.picture(
            for_page(lambda: convergence_curve(x, loss, sample_name=name, legend=legend)),
            f"Mean loss per sample, from {loss[0]:.4g} in the first {step} to {loss[-1]:.4g} in "
            "the last",
            f"Mean loss per sample of each {step}; lower is better.",
        )
    ends = [history[0], history[-1]] if len(history) > 1 else [history[0]]
    accuracy = "" if tol is None else f" Codes of transform have a certificate of {tol:g} or less."
    report.table(
        ["", f"first {step}", f"last {step}"][: len(ends) + 1],
        [
            ["mean loss per sample", *(f"{row.loss:.4g}" for row in ends)],
            ["certificate of its codes", *(f"{row.certificate:.2g}" for row in ends)],
            ["change of the parts", *(f"{row.change:.2g}" for row in ends)],
        ],
        caption=f"A certificate is the distance of codes from optimality; 0 is exact.{accuracy}",
    )
    if history.events:
        report.table(
            ["after samples", "event", "p-value, ratio of losses, or new value"],
            [[f"{n:,}", kind, f"{value:.3g}"] for n, kind, value in history.events[-_MAX_EVENTS:]],
            caption="Detected drift, and changes of the outlier weight or of forgetting.",
        )


def add_atoms(report: Report, model: Any, shape: Sequence[int] | None) -> None:
    """Add the atoms of a model as images, by the names of their features, or as profiles."""
    from thresher.plotting import atom_grid, bar_panels, for_page, profile_panels

    atoms: Array = model.components_
    shown, names = atoms[:_MAX_ATOMS], getattr(model, "feature_names_in_", None)
    more = f" The first {len(shown)} of {len(atoms)}." if len(atoms) > len(shown) else ""
    titles = [f"part {number}" for number in range(1, len(shown) + 1)]
    if shape is not None and int(np.prod(shape)) == atoms.shape[1]:
        images = np.abs(shown).reshape(len(shown), *shape)
        images = images if images.ndim == 3 else images.mean(axis=-1)
        report.picture(
            for_page(lambda: atom_grid(images, titles=titles, n_columns=min(6, len(shown)))),
            f"{len(shown)} learned parts, as images",
            f"Each part from zero (black) to its own largest value (white).{more}",
        )
    elif names is not None:
        labels, bars = [], []
        for atom in shown:
            top = np.argsort(-np.abs(atom), kind="stable")[:_MAX_FEATURES]
            top = top[atom[top] != 0]
            labels.append([("−" if atom[f] < 0 else "") + str(names[f]) for f in top])
            bars.append((np.abs(atom[top]) / (np.abs(atom).max() or 1.0)).tolist())
        report.picture(
            for_page(lambda: bar_panels(titles, labels, bars)),
            "; ".join(f"{t}: {', '.join(n)}" for t, n in zip(titles, labels, strict=True)),
            f"The features with the largest weight in each part, relative to its largest.{more}",
        )
    else:
        report.picture(
            for_page(lambda: profile_panels(shown, titles)),
            f"{len(shown)} learned parts, as profiles over their features",
            f"Each part over its features, on its own scale.{more}",
        )
