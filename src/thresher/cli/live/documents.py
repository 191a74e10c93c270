"""Documents in ``thresher live``: as ``thresher novelty`` has them, with a page that stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thresher.cli.frame import made, seeded
from thresher.cli.live.session import live_page, until_interrupted
from thresher.cli.novelty import show_step, steps_of
from thresher.cli.talk import Talk


def watch_novelty(
    talk: Talk,
    docs: str,
    text: str | None,
    save: Path | None,
    parameters: dict[str, Any],
    *,
    address: str,
    rate: float | None,
    stay: bool,
) -> None:
    """Go through documents step by step, and tell a page of each.

    Parameters
    ----------
    talk : Talk
    docs, text, save
        As for ``thresher novelty``.
    parameters : dict
        Those of the detector.
    address, rate, stay
        As for ``thresher live``.
    """
    import thresher
    from thresher.cli.live.shows.novelty import NoveltyShow, watched_steps

    detector = made(thresher.NovelDocumentDetector, seeded(talk, parameters))
    steps = steps_of(talk, docs, text, None, None, None, detector.false_alarm_rate)
    what, name = "NovelDocumentDetector", Path(docs).name
    page = live_page(
        talk, NoveltyShow(), name, what, address=address, path=save, rate=rate, stay=stay
    )
    with page as watcher, until_interrupted(talk, watcher):
        for each in watched_steps(watcher, detector, steps):
            show_step(talk, each)
    if not hasattr(detector, "n_steps_"):
        raise ValueError("There are no documents; give at least one.")
    talk.answer(documents=detector.n_documents_, steps=detector.n_steps_)
    if save is not None:
        thresher.save(detector, save)
        talk.answer(model=save)
