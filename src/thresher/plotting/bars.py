"""Bars that name what they measure: the words of topics, the sizes of topics."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import ACCENT, INK, TEXT_SIZE, empty_figure, page_width, text_width

_NARROWEST = 2.2  # inches of a panel
_BAR_PITCH = 0.24  # from one bar to the next
_TITLE_ROOM = 0.36
_PANEL_GAP = 0.3
_SMALL = 0.85 * TEXT_SIZE
_SMALLEST_TITLE, _LARGEST_TITLE = 0.75 * TEXT_SIZE, 0.95 * TEXT_SIZE
_LETTER, _BOLD_LETTER = 0.55, 0.6  # width of a letter, in units of its size
_MOST_FOR_LABELS = 0.65  # of a panel
_LONGEST_WORD, _LONGEST_NAME = 16, 48  # letters; longer ones would leave no room for bars


def bar_panels(
    titles: Sequence[str],
    labels: Sequence[Sequence[str]],
    values: Sequence[Sequence[float]],
    *,
    n_columns: int = 3,
) -> Figure:
    """Show a panel of horizontal bars for each topic, all on one scale.

    Parameters
    ----------
    titles : sequence of str
        Heading of each panel.
    labels, values : sequences of sequences
        Name and length of each bar of each panel, from the top; lengths are nonnegative.
    n_columns : int
        Panels next to each other; fewer where the page is narrow.

    Returns
    -------
    Figure
        With one axes per panel, row by row.
    """
    if not len(titles) == len(labels) == len(values) or not titles:
        raise ValueError("Give at least one panel, with a title, labels and values each.")
    if any(len(names) != len(bars) for names, bars in zip(labels, values, strict=True)):
        raise ValueError("Every bar needs one label and one value.")
    page = page_width()
    n_columns = min(n_columns, len(titles), max(1, int(page / _NARROWEST)))
    n_rows = -(-len(titles) // n_columns)
    n_bars = max(1, *(len(bars) for bars in values))
    longest = max((bar for bars in values for bar in bars), default=0.0) or 1.0
    labels = [[_shortened(name, _LONGEST_WORD) for name in names] for names in labels]
    panel_height = n_bars * _BAR_PITCH
    row_height = _TITLE_ROOM + panel_height + _PANEL_GAP
    total = n_rows * row_height - _PANEL_GAP
    column_width = (page - (n_columns - 1) * _PANEL_GAP) / n_columns
    label_room = _room_for([name for names in labels for name in names])
    label_room = min(label_room, _MOST_FOR_LABELS * column_width)
    figure = empty_figure(page, total)
    # Headings shrink a little before they are cut.
    room_for_title = column_width * 72 / _BOLD_LETTER  # in letters of one point
    title_size = room_for_title / max(1, *map(len, titles))
    title_size = min(max(title_size, _SMALLEST_TITLE), _LARGEST_TITLE)
    for number, (title, names, bars) in enumerate(zip(titles, labels, values, strict=True)):
        row, column = divmod(number, n_columns)
        left = column * (column_width + _PANEL_GAP)
        bottom = total - row * row_height - _TITLE_ROOM - panel_height
        axes = figure.add_axes(
            (
                (left + label_room) / page,
                bottom / total,
                (column_width - label_room) / page,
                panel_height / total,
            )
        )
        _draw_bars(axes, names, bars, n_bars, longest)
        figure.text(
            left / page,
            (bottom + panel_height + 0.07) / total,
            _shortened(title, int(room_for_title / title_size)),
            color=INK,
            fontsize=title_size,
            fontweight="bold",
            va="bottom",
        )
    return figure


def share_bars(names: Sequence[str], shares: Sequence[float]) -> Figure:
    """Show shares of a whole as horizontal bars, the largest on top, each with its per cent.

    Parameters
    ----------
    names : sequence of str
    shares : sequence of float
        Between 0 and 1.

    Returns
    -------
    Figure
        With one axes.
    """
    if len(names) != len(shares) or not names:
        raise ValueError("Give at least one share, and a name for each.")
    falling = sorted(range(len(names)), key=lambda number: -shares[number])
    bars = [shares[number] for number in falling]
    page = page_width()
    letters = min(_LONGEST_NAME, int(_MOST_FOR_LABELS * page * 72 / (_LETTER * _SMALL)))
    labels = [_shortened(names[number], letters) for number in falling]
    longest = max(bars) or 1.0
    label_room = _room_for(labels)
    percent_room = 0.6
    total = len(names) * _BAR_PITCH
    figure = empty_figure(page, total)
    width = page - label_room - percent_room
    axes = figure.add_axes((label_room / page, 0.0, width / page, 1.0))
    _draw_bars(axes, labels, bars, len(bars), longest)
    for place, share in enumerate(bars):
        axes.text(
            share + 0.012 * longest,
            place,
            f"{share:.1%}",
            color=INK,
            fontsize=_SMALL,
            va="center_baseline",
        )
    return figure


def _draw_bars(
    axes: Axes, names: Sequence[str], bars: Sequence[float], n_places: int, longest: float
) -> None:
    places = range(len(bars))
    axes.patch.set_alpha(0.0)
    axes.barh(places, bars, height=0.66, color=ACCENT)
    axes.set_xlim(0, longest)
    axes.set_ylim(n_places - 0.5, -0.5)
    axes.set_yticks(list(places), list(names))
    axes.set_xticks([])
    axes.tick_params(colors=INK, labelsize=_SMALL, length=0)
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)


def _room_for(labels: Sequence[str]) -> float:
    """Inches that labels left of bars take."""
    return 0.15 + max((text_width(label, _SMALL) for label in labels), default=_SMALL / 72)


def _shortened(text: str, n_letters: int) -> str:
    return text if len(text) <= n_letters else text[: n_letters - 1] + "…"
