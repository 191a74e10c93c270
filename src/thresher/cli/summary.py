"""What a fitted model is, in a few lines, for people and for machines."""

from __future__ import annotations

from typing import Any

from thresher.cli.talk import Talk


def show_summary(talk: Talk, model: Any) -> None:
    """Print what a model learned, and put it into the answer."""
    told = summary(model)
    talk.answer(**told)
    width = max(map(len, told))
    for name, value in told.items():
        if value not in ({}, [], None):
            talk.show(f"{name.replace('_', ' '):{width}}  {_words(value)}")


def summary(model: Any) -> dict[str, Any]:
    """Parameters that are not the default, sizes, how it learned, and how it went at last."""
    from thresher.estimators.parameters import changed_parameters

    inner = getattr(model, "model_", model)
    history = getattr(inner, "history_", None)
    atoms = getattr(model, "components_", None)
    told: dict[str, Any] = {
        "estimator": type(model).__name__,
        "parameters": {
            name: value if isinstance(value, int | float | str | None) else repr(value)
            for name, value in changed_parameters(model).items()
        },
    }
    if atoms is not None:
        told |= {"n_components": len(atoms), "n_features": atoms.shape[1]}
    if history and not hasattr(inner, "partial_fit"):  # every round sees all samples again
        told |= {"n_samples": history[0].samples, "rounds": inner.n_iter_}
    elif hasattr(inner, "n_samples_seen_"):
        told["n_samples_seen"] = inner.n_samples_seen_
    for name in ("n_documents_", "outlier_weight_", "solver_"):
        if hasattr(inner, name):
            told[name.rstrip("_")] = getattr(inner, name)
    if history:
        last = history[-1]
        told |= {"steps": len(history), "seconds": last.seconds, "loss": last.loss}
        told["events"] = [event._asdict() for event in history.events]
    if hasattr(model, "topics_"):
        told["topics"] = [topic.name for topic in model.topics_]
    return told


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={given}" for name, given in value.items())
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
