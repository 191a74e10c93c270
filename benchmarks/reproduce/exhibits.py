"""What a page says of a table or a figure: published, measured, and whether claims hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.reproduce.jobs import Job, Scale, finished

NOT_RUN = "not run"


@dataclass(frozen=True)
class Claim:
    """Something that a paper says; ``holds`` is None as long as nothing was measured.

    ``ours``: a goal of this project, not of a paper.
    """

    said: str
    holds: bool | None = None
    seen: str = ""
    ours: bool = False

    def verdict(self) -> str:
        """In a word."""
        return {True: "holds", False: "does not hold", None: NOT_RUN}[self.holds]


@dataclass(frozen=True)
class Lead:
    """The best published method and ``auto`` in one experiment: quality, and seconds.

    ``ahead`` says whether ``auto`` is at least as good; None if neither can be said to be.
    """

    experiment: str
    measure: str
    published: str
    quality: str
    auto: str
    times: float | None
    """Seconds of the published method over those of ``auto``."""
    spread: str
    """How many runs of ``auto``, and their spread."""
    ahead: bool | None


@dataclass
class Exhibit:
    """A table or a figure of a paper."""

    paper: str
    name: str
    subject: str
    columns: Sequence[str] = ()
    rows: list[Sequence[str]] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    leads: list[Lead] = field(default_factory=list)
    differs: str = ""
    """Why measured and published differ."""
    pictures: Sequence[str] = ()
    """Names of pictures that its jobs have drawn."""
    setting: str = NOT_RUN
    """What was measured, at which scale."""


@dataclass(frozen=True)
class Found:
    """What the jobs of a paper gave, by scale and name."""

    paper: str
    results: dict[Scale, dict[str, Any]]
    jobs: dict[Scale, list[str]]

    @classmethod
    def read(cls, paper: str, jobs: Callable[[Scale], Any]) -> "Found":
        """All files that there are."""
        scales: tuple[Scale, ...] = ("quick", "paper")
        listed: dict[Scale, list[Job]] = {scale: list(jobs(scale)) for scale in scales}
        return cls(
            paper,
            {s: {job.name: row for job, row in finished(paper, s, listed[s])} for s in scales},
            {scale: [job.name for job in each] for scale, each in listed.items()},
        )

    def of(self, *starts: str) -> tuple[str, dict[str, Any]]:
        """Results of jobs whose name starts so: of paper scale, or else quick; and which, told."""
        for scale in ("paper", "quick"):
            mine = {k: v for k, v in self.results[scale].items() if k.startswith(starts)}
            if mine:
                count = sum(name.startswith(starts) for name in self.jobs[scale])
                return f"{scale} scale, {len(mine)} of {count} jobs", mine
        return NOT_RUN, {}

    def at(self, scale: Scale, *starts: str) -> dict[str, Any]:
        """Results of one scale."""
        return {k: v for k, v in self.results[scale].items() if k.startswith(starts)}

    def left(self) -> dict[Scale, list[str]]:
        """Jobs without a result."""
        return {s: [j for j in names if j not in self.results[s]] for s, names in self.jobs.items()}


def figure(value: float | None, digits: int = 2) -> str:
    """A number, or a dash."""
    return "–" if value is None or value != value else f"{value:.{digits}f}"


def mean_std(values: Sequence[float], digits: int = 2) -> str:
    """Mean ± standard deviation, if there is more than one."""
    if not len(values):
        return "–"
    mean = sum(values) / len(values)
    if len(values) == 1:
        return f"{mean:.{digits}f}"
    deviation = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"
