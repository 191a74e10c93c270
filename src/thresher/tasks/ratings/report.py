"""The page about ratings: what was learned of items and raters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thresher import __version__
from thresher.plotting import for_page
from thresher.plotting.style import ACCENT, INK, empty_figure, page_width
from thresher.report import Report
from thresher.tasks.ratings.beside import tell_means

if TYPE_CHECKING:
    from thresher.tasks.ratings.model import RatingModel

_SHOWN = 12


def ratings_report(model: RatingModel) -> Report:
    """Show the items that are rated best and worst, those who split opinions, and the raters."""
    users, items = model.users_, model.items_
    suspicious = model.suspicious_users_
    report = Report(
        f"{model.n_ratings_seen_:,} ratings",
        f"Of {len(items):,} items by {len(users):,} users.",
        f"Thresher {__version__} · ratings",
    )
    report.facts(
        [
            (f"{model.mean_:.2f}", "mean rating"),
            (f"{np.median(model.user_noise_):.2f}", "usual distance from what is told"),
            (f"{len(suspicious)}", "suspicious users"),
            (f"{model.n_iter_}", "sweeps"),
        ]
    )
    counts = np.diff(model._kept.X.T.tocsr().indptr)
    bias, order = model.item_bias_, np.argsort(-model.item_bias_, kind="stable")
    report.heading("Items")
    report.paragraph("By how much more or less than the mean, as far as so many ratings tell.")
    for title, some in (("Best", order[:_SHOWN]), ("Worst", order[::-1][:_SHOWN])):
        rows = [[str(items[i]), f"{bias[i]:+.2f}", f"{counts[i]:,}"] for i in some]
        report.table([title, "bias", "ratings"], rows)
    report.heading("Raters")
    report.picture(
        for_page(lambda: _raters(model)),
        "Two histograms: noise of the users, and how much they give more than others",
        "How far users' ratings are from what is told of them, and how much more they give.",
    )
    if len(suspicious):
        shown = ", ".join(str(each) for each in suspicious[:_SHOWN])
        more = f" and {len(suspicious) - _SHOWN} more" if len(suspicious) > _SHOWN else ""
        report.paragraph(
            "Suspicious, since what they rate does not tell how they rate it; they do not count "
            f"for others: {shown}{more}."
        )
    tell_means(report, model, model._kept.X)
    return report


def _raters(model: RatingModel) -> Any:
    page = page_width()
    n_columns = 2 if page > 6 else 1  # on a phone one below the other
    height = 2.4 * (2 // n_columns)
    figure = empty_figure(page, height)
    told = (
        (model.user_noise_, "noise, in ratings"),
        (model.user_bias_, "gives more than others, in ratings"),
    )
    for place, (values, label) in enumerate(told):
        row, column = divmod(place, n_columns)
        left, bottom = 0.56 + column * page / n_columns, height - 2.4 * (row + 1) + 0.6
        box = (left / page, bottom / height, (page / n_columns - 0.72) / page, 1.68 / height)
        axes = figure.add_axes(box)
        axes.patch.set_alpha(0.0)
        axes.hist(values, 40, color=ACCENT)
        axes.set_xlabel(label, color=INK)
        axes.tick_params(colors=INK)
        axes.locator_params(nbins=6)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for side in ("bottom", "left"):
            axes.spines[side].set_color(INK)
    figure.axes[0].set_ylabel("users", color=INK)
    return figure
