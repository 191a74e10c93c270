"""The page about photographs: some of them before and after, and what was taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import __version__
from thresher.estimators.reports import add_history
from thresher.estimators.results import comes_in_parts, source_of
from thresher.linalg import Array
from thresher.plotting import atom_grid, for_page, frame_grid
from thresher.report import Report

if TYPE_CHECKING:
    from thresher.tasks.images.denoiser import Denoised, ImageDenoiser

_SHOWN = 6  # photographs on the page
_LONGEST = 480  # pixels on their longer side
_PARTS = 12


class Some(NamedTuple):
    """A few photographs out of many."""

    images: NDArray[Any]
    mask: NDArray[np.bool_] | None
    numbers: list[int]
    total: int | None
    """How many there are, if anybody knows."""


def some_of(images: Any, mask: Any = None) -> Some:
    """A few photographs at equal distances: of an array, or of a source."""
    if not comes_in_parts(images):
        stack = np.asarray(images)
        numbers = _spread(len(stack))
        return Some(
            stack[numbers], None if mask is None else np.asarray(mask)[numbers], numbers, len(stack)
        )
    source = source_of(images)
    if source.sample_shape is None:
        raise ValueError("The rows of this source are no pictures; open a folder of images.")
    if source.n_samples is None or source.reader.once:
        rows = next(iter(source.in_batches(_SHOWN)))
        numbers = list(range(len(rows)))
    else:
        numbers = _spread(source.n_samples)
        rows = np.concatenate([source.rows(0, number, number + 1) for number in numbers])
    return Some(rows.reshape(-1, *source.sample_shape), None, numbers, source.n_samples)


def _spread(count: int) -> list[int]:
    places = np.linspace(0, count - 1, min(_SHOWN, count)).round().astype(int)
    return np.unique(places).tolist()


def photograph_report(denoiser: ImageDenoiser, some: Some | None) -> Report:
    """Show what was learned, and what became of some photographs.

    Parameters
    ----------
    denoiser : ImageDenoiser
        Fitted.
    some : Some, optional
        Photographs to show.
    """
    height, width = denoiser.image_shape_[:2]
    known = some is not None and some.total is not None
    report = Report(
        f"{some.total:,} photographs, before and after"
        if some and known
        else "Photographs of a kind",
        "What photographs of one kind have in common was learned from all of them, damaged as they "
        "are. What is far from that in one of them, and from its neighbours, was replaced. All "
        "other pixels are as they were.",
        f"Thresher {__version__} · photographs",
    )
    facts = [(f"{width} × {height}", "pixels")]
    if some is not None:
        found = denoiser.denoise(some.images, some.mask)
        facts += _facts(some, found)
    report.facts(facts)
    if some is not None:
        _tell_photographs(report, some, found)
    _tell_parts(report, denoiser)
    model = denoiser.estimator_
    if hasattr(model, "history_"):
        add_history(report, model.history_, getattr(model, "tol", None))
    return report


def _facts(some: Some, found: Denoised) -> list[tuple[str, str]]:
    shares = found.mask.reshape(len(found.mask), -1).mean(axis=1)
    return [
        (f"{len(shares)}", "photographs are shown, at equal distances"),
        (f"{shares.mean():.1%}", "of their pixels were replaced"),
        (f"{shares.max():.1%}", "in the one with most damage"),
    ]


def _tell_photographs(report: Report, some: Some, found: Denoised) -> None:
    white = _white(some.images)
    removed = np.abs(found.removed) / white
    removed = removed / (float(removed.max()) or 1.0)
    columns = [
        _shown(np.nan_to_num(np.asarray(some.images, dtype=np.float64)) / white),
        _shown(np.asarray(found.clean, dtype=np.float64) / white),
        _shown(removed),
        _shown(found.mask.astype(np.float64)),
    ]
    report.heading("Before and after")
    shares = found.mask.reshape(len(found.mask), -1).mean(axis=1)
    report.picture(
        for_page(
            lambda: frame_grid(
                columns,
                ["before", "after", "removed", "replaced"],
                [f"{number:,}" for number in some.numbers],
            )
        ),
        "Photographs before and after, what was removed, and which pixels were replaced: "
        + "; ".join(
            f"number {number}: {share:.1%} replaced"
            for number, share in zip(some.numbers, shares, strict=True)
        ),
        "Photographs are numbered from 0. What was removed is shown by its size, the largest in "
        "white; pixels that were replaced are white on the right, gaps among them.",
    )


def _tell_parts(report: Report, denoiser: ImageDenoiser) -> None:
    atoms = np.asarray(denoiser.estimator_.components_)[:_PARTS]
    images = np.abs(atoms).reshape(-1, *denoiser.image_shape_)
    images = images if images.ndim == 3 else images.mean(axis=-1)
    step = -(-max(images.shape[1:]) // _LONGEST)
    report.heading("What photographs have in common")
    report.picture(
        for_page(lambda: atom_grid(images[:, ::step, ::step], n_columns=min(4, len(images)))),
        f"{len(images)} learned parts, as pictures",
        "A photograph without damage is a sum of these parts, in amounts of its own"
        + (", and a part may also be taken away." if (atoms < 0).any() else "."),
    )


# --------------------------------------------------------------------------------- pictures


def _white(images: NDArray[Any]) -> float:
    """The value that is shown as white."""
    largest = float(np.nanmax(images)) if np.isfinite(images).any() else 0.0
    return 255.0 if images.dtype == np.uint8 else (largest or 1.0)


def _shown(stack: Array) -> NDArray[np.uint8]:
    """Pictures between 0 and 1 as bytes, not larger than a page needs."""
    step = -(-max(stack.shape[1:3]) // _LONGEST)
    found = np.rint(255 * np.clip(stack[:, ::step, ::step], 0, 1)).astype(np.uint8)
    return found if found.ndim == 4 else np.repeat(found[..., np.newaxis], 3, axis=3)
