"""What a notebook shows of a fitted model, below scikit-learn's diagram, and of samples apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.report.notebook import card

_PARTS, _FEATURES = 5, 4  # named in a notebook; by judgement
_LARGEST = 5  # outliers that are named


def model_card(model: Any) -> str:
    """Sizes, how it learned and how well, what was noticed, and what runs."""
    K, F = model.components_.shape
    facts = [("parts", f"{K} of {F:,} features"), *_learning(model)]
    names = getattr(model, "feature_names_in_", None)
    if names is not None and len(names) == F:
        for number, atom in enumerate(model.components_[:_PARTS], 1):
            top = np.argsort(-np.abs(atom), kind="stable")[:_FEATURES]
            named = ", ".join(str(names[f]) for f in top if atom[f])
            facts.append((f"part {number}", named))
        if K > _PARTS:
            facts.append(("…", f"and {K - _PARTS} more"))
    if hasattr(model, "outlier_weight_"):
        facts.append(("outlier weight λ", f"{model.outlier_weight_:.4g}"))
    if hasattr(model, "solver_"):
        facts.append(("what runs", str(model.solver_)))
    history = getattr(model, "history_", None)
    curve = history.column("loss").tolist() if history is not None else []
    return card(f"{type(model).__name__}, fitted", facts, curve=curve, curve_name="mean loss")


def samples_and_rounds(model: Any) -> tuple[str, str] | None:
    """How many samples a model has seen, in a number and in words; None if it does not know.

    Batch models see all samples in every round: then rounds are told beside the samples.
    """
    history = getattr(model, "history_", None)
    if hasattr(model, "partial_fit") and hasattr(model, "n_samples_seen_"):
        return f"{model.n_samples_seen_:,}", "samples seen, all passes together"
    if not history:
        return None
    return f"{history[0].samples:,}", f"samples, in {model.n_iter_:,} rounds"


def _learning(model: Any) -> list[tuple[str, str]]:
    facts, history = [], getattr(model, "history_", None)
    seen = samples_and_rounds(model)
    if seen is not None:
        facts.append(("learned from", " ".join(seen)))
    if not history:
        return facts
    last = history[-1]
    facts.append(("learned for", f"{last.seconds:.2g} s"))
    facts.append(("mean loss of a sample", f"{history[0].loss:.4g}, at last {last.loss:.4g}"))
    if np.isfinite(last.certificate):
        facts.append(("certificate of the last codes", f"{last.certificate:.2g} (0 is exact)"))
    if history.events:
        told = "; ".join(f"{kind} after {n:,} samples" for n, kind, _ in history.events[-_LARGEST:])
        facts.append(("noticed", told))
    return facts


def separation_card(found: Any) -> str:
    """Samples taken apart: how much was set aside, and the largest of it."""
    shape = tuple(getattr(found.outliers, "shape", ()))
    facts = [("samples", " × ".join(_count(side) for side in shape))]
    if type(found.outliers).__module__.startswith("dask"):
        facts.append(("outliers", "not computed yet; call compute()"))
        return card("Separation", facts)
    values = np.asarray(found.outliers, dtype=np.float64)
    sizes = np.abs(np.nan_to_num(values))
    count = int(np.count_nonzero(sizes))
    facts.append(("parts", f"{np.shape(found.codes)[-1]}"))
    facts.append(("entries set aside", f"{count:,}, which is {count / max(sizes.size, 1):.2%}"))
    if count:
        most = min(_LARGEST, count)
        flat = np.argpartition(sizes, sizes.size - most, axis=None)[sizes.size - most :]
        flat = flat[np.argsort(-sizes.flat[flat], kind="stable")]
        places = zip(*np.unravel_index(flat, values.shape), strict=True)
        listed = [f"{values[at]:.4g} at {_place(found.outliers, at)}" for at in places]
        facts.append(("the largest", "; ".join(listed)))
    return card("Separation: low_rank, outliers, codes", facts)


def _place(outliers: Any, place: tuple[Any, ...]) -> str:
    """Where an entry is, by name if its frame has names."""
    row, *rest = (int(at) for at in place)
    columns = getattr(outliers, "columns", None)
    if columns is None:
        return f"({', '.join(map(str, (row, *rest)))})"
    return f"row {row}, {columns[rest[0]]}"


def _count(side: Any) -> str:
    return f"{side:,}" if isinstance(side, int | np.integer) else "?"
