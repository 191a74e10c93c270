"""Paper C (Guan, Tao, Luo and Shawe-Taylor): Tables 1 and 2, Figures 3 to 20."""

from collections.abc import Iterator
from typing import Any

from benchmarks.reproduce import paper_c_faces as faces
from benchmarks.reproduce import paper_c_scenes as scenes
from benchmarks.reproduce import paper_c_segments as segments
from benchmarks.reproduce import paper_c_speed as speed
from benchmarks.reproduce import paper_c_views as views
from benchmarks.reproduce.jobs import Job, Scale


def jobs(scale: Scale) -> Iterator[Job]:
    """Short ones first."""
    for part in (scenes, faces, segments, views, speed):
        yield from part.jobs(scale)


def tell(results: dict[str, Any]) -> None:
    """What each part has to say."""

    def of(*names: str) -> dict[str, Any]:
        return {job: row for job, row in results.items() if job.startswith(names)}

    scenes.tell(of("figures_16_18/"))
    faces.tell(of("table_1", "figures_10_11/"))
    if "figures_12_14" in results:
        segments.tell(results["figures_12_14"])
    views.tell(of("table_2/"))
    speed.tell(of("sweep/", "figures_3_4/"))
