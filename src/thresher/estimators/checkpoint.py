"""A callback that saves the model now and then, so that a run which is killed can go on."""

import logging
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thresher.engine import Step
from thresher.estimators.saving import check_savable, save
from thresher.persistence import checked_target

_log = logging.getLogger(__name__)


@dataclass
class Checkpoint:
    """Save the model to ``path`` every so many seconds or samples, whichever comes first.

    Each write is atomic: kill the run at any time and the file is the last complete checkpoint.
    For an online model ``thresher.load(path).resume(X)`` then gives the same bits as the
    uninterrupted run. A model that cannot be saved, and a path that cannot be written to, are
    refused before the run.

    In the middle of a run, a full disk or a folder that was closed is no reason to lose hours: a
    warning reports it once, the last complete checkpoint stays, learning continues, the next
    checkpoint is tried when it is due, and another warning reports when they are written again.
    """

    path: str | Path
    seconds: float | None = 60.0
    samples: int | None = None
    _last_time: float = field(default_factory=time.monotonic, init=False, repr=False)
    _last_samples: int = field(default=0, init=False, repr=False)
    _fails: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.seconds is None and self.samples is None:
            raise ValueError("A checkpoint needs seconds or samples; without them it never saves.")

    def begin(self, model: Any, n_seen: int) -> None:
        """Check model and path when a fit begins, or continues after ``n_seen`` samples."""
        check_savable(model)
        checked_target(self.path)
        self._last_time, self._last_samples, self._fails = time.monotonic(), n_seen, False

    def __call__(self, step: Step) -> None:
        """Save if it is time."""
        now = time.monotonic()
        late = self.seconds is not None and now - self._last_time >= self.seconds
        far = self.samples is not None and step.row.samples - self._last_samples >= self.samples
        if late or far:
            self._last_time, self._last_samples = now, step.row.samples
            self._save(step)

    def _save(self, step: Step) -> None:
        n_seen, failed = step.row.samples, self._fails
        try:
            save(step.model, self.path)
        except OSError as error:
            self._fails = True
            if not failed:
                _warn(
                    f"No checkpoint could be written after {n_seen} samples: {error}. Learning "
                    "continues, and the last complete checkpoint stays. Free disk space or "
                    "allow writing to the folder; the next checkpoint is written when it is due."
                )
            return
        self._fails = False
        _log.info("Checkpoint after %d samples: %s", n_seen, self.path)
        if failed:
            _warn(f"Checkpoints are written again, the first after {n_seen} samples: {self.path}")


def _warn(message: str) -> None:
    _log.warning(message)
    warnings.warn(message, UserWarning, stacklevel=4)
