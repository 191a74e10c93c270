"""A `RatingModel` as arrays and a JSON document, for `thresher.save` and `thresher.load`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from thresher.estimators.saving import packed_parameters, unpacked_model
from thresher.persistence import Contents, put_strings
from thresher.tasks.ratings.beliefs import Beliefs
from thresher.tasks.ratings.kept import KeptRatings
from thresher.tasks.ratings.learning import RatingState, Scale
from thresher.tasks.ratings.raters import Noise
from thresher.tasks.ratings.table import Names

if TYPE_CHECKING:
    from thresher.tasks.ratings.model import RatingModel


def pack_ratings(model: RatingModel) -> tuple[dict[str, Any], dict[str, Any]]:
    """The ratings, and all that is believed."""
    if not hasattr(model, "_state"):
        raise NotFittedError("This model has not seen a rating; there is nothing to save.")
    kept, state = model._kept, model._state
    X = kept.X
    arrays: dict[str, Any] = {
        "ratings": X.data,
        "rated": X.indices.astype(np.int64),
        "heads": X.indptr.astype(np.int64),
        "users.mean": state.users.mean,
        "users.cov": state.users.cov,
        "items.mean": state.items.mean,
        "items.cov": state.items.cov,
        "user_prior": state.user_prior,
        "item_prior": state.item_prior,
        "precisions": state.precisions,
        "suspicions": state.suspicions,
    }
    document = {
        "parameters": packed_parameters(model, arrays),
        "users": _pack_names(kept.users, "user_ids", arrays),
        "items": _pack_names(kept.items, "item_ids", arrays),
        "scale": asdict(state.scale),
        "noise": state.noise._asdict(),
        "level": state.level,
        "share": state.share,
        "n_sweeps": state.n_sweeps,
        "moved": state.moved,
    }
    return arrays, document


def unpack_ratings(contents: Contents) -> Any:
    """The model again; it goes on as if it had never been a file."""
    model = unpacked_model(contents)
    users, items = (_unpack_names(contents, name) for name in ("user", "item"))
    X = _unpack_matrix(contents, len(users), len(items))
    P = model.n_components + 1
    of_users, of_items = (
        Beliefs(
            contents.array(f"{name}.mean", (count, P)), contents.array(f"{name}.cov", (count, P, P))
        )
        for name, count in (("users", len(users)), ("items", len(items)))
    )
    user_prior, item_prior = (contents.array(f"{name}_prior", (P,)) for name in ("user", "item"))
    precisions = contents.array("precisions", (len(users),))
    suspicions = contents.array("suspicions", (len(users),))
    scale, noise = _numbers(contents, "scale", Scale), _numbers(contents, "noise", Noise)
    share, moved = contents.number("share"), contents.number("moved", finite=False)
    signs = [
        user_prior,
        item_prior,
        precisions,
        np.array([scale.unit, noise.shape, noise.variance]),
    ]
    if min(float(part.min(initial=1.0)) for part in signs) <= 0 or not 0 < share < 1:
        raise contents.error("precisions and shares are positive")
    if not moved >= 0:
        raise contents.error("how far a sweep has moved is not below 0")
    if suspicions.min(initial=0) < 0 or suspicions.max(initial=0) > 1:
        raise contents.error("how likely something is lies between 0 and 1")
    state = RatingState(
        scale,
        contents.number("level"),
        of_users,
        of_items,
        user_prior,
        item_prior,
        noise,
        precisions,
        suspicions,
        share,
        contents.integer("n_sweeps"),
        moved,
    )
    return model._adopt(KeptRatings(users, items, X), state)


def _pack_names(names: Names, name: str, arrays: dict[str, Any]) -> str:
    """As whole numbers, or as texts."""
    ids = names.ids
    if all(type(each) is int and abs(each) < 2**63 for each in ids):
        arrays[name] = np.array(ids, dtype=np.int64)
        return "numbers"
    if all(type(each) is str for each in ids):
        put_strings(arrays, name, ids)
        return "texts"
    raise ValueError(
        "Files hold ids that are whole numbers or texts; make them texts before fit to save this "
        "model."
    )


def _unpack_names(contents: Contents, name: str) -> Names:
    kind = contents.text(f"{name}s")
    if kind == "numbers":
        ids = contents.array(f"{name}_ids", (None,), ("int64",)).tolist()
    else:
        ids = contents.strings(f"{name}_ids")
    if len(set(ids)) != len(ids):
        raise contents.error(f"{name}s have one id each")
    return Names(ids)


def _unpack_matrix(contents: Contents, n: int, m: int) -> Any:
    heads = contents.array("heads", (n + 1,), ("int64",))
    values = contents.array("ratings", (None,))
    places = contents.places("rated", len(values), m)
    if not len(values) or heads[0] != 0 or heads[-1] != len(values) or np.diff(heads).min() < 0:
        raise contents.error("its ratings do not add up")
    X = sparse.csr_array((values, places, heads), shape=(n, m))
    if not X.has_canonical_format:
        raise contents.error("an item is rated twice by one user")
    return X


def _numbers(contents: Contents, name: str, kind: Any) -> Any:
    record = Contents({}, contents.record(name), contents.name)
    fields = kind._fields if hasattr(kind, "_fields") else kind.__dataclass_fields__
    return kind(**{field: record.number(field) for field in fields})
