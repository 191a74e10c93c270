"""Tables II and III and Figures 8 and 9 of paper A: shadows on faces, people in front of a scene.

Images of one person of Yale B under 64 lights, or frames of a video, each divided by its largest
pixel, p times over in random order; K = 49. The paper prints seconds and shows pictures. There is
no truth, so what stands beside the seconds is the mean absolute rest in grey levels, and the share
of pixels that the low-rank part has to within 5 of 255. Seconds are processor time of one thread,
all methods side by side.

* Paper scale: subject 2 in 192 × 168 with p = 50 (subject 8 is at hand in 48 × 42 only), Hall and
  Escalator in full size with p = 10. Hall has 124 frames here (two clips), 200 in the paper.
* Quick scale: faces in 48 × 42 with p = 5, frames averaged over 2 × 2 pixels and p = 2; a method
  that takes longer than 15 seconds of the processor is cut off.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from benchmarks.common import DATA_FILES, Row, find_data_file
from benchmarks.reproduce.jobs import Job, Scale, keep_picture
from benchmarks.reproduce.paper_a_methods import METHODS, Learned, learned

from thresher.linalg import Array

VIDEOS = {"hall": "i2r_hall_144x176.npz", "escalator": "i2r_escalator_130x160.npz"}
SEEDS: dict[Scale, int] = {"quick": 1, "paper": 10}
LIMIT: dict[Scale, float] = {"quick": 15.0, "paper": 3600.0}
WITHIN = 5 / 255


@dataclass(frozen=True)
class Scene:
    """A person or a video, and how often every image comes."""

    name: str
    file: str
    copies: int
    subject: int = 0
    halved: bool = False

    def images(self) -> Array:
        """Pixels in [0, 1], the largest of every image being one."""
        if self.subject:
            with np.load(find_data_file(self.file), allow_pickle=False) as stored:
                images = stored["images"][stored["subject"] == self.subject]
        else:
            with np.load(find_data_file(self.file), allow_pickle=False) as stored:
                images = stored["frames"]
                images = images[:200]  # one clip of Escalator; both of Hall
        pixels = images.astype(np.float64)
        if self.halved:
            n, height, width = pixels.shape
            pixels = pixels.reshape(n, height // 2, 2, width // 2, 2).mean(axis=(2, 4))
        return np.asarray(pixels / pixels.max(axis=(1, 2), keepdims=True))


def scenes(scale: Scale) -> Iterator[Scene]:
    small, large = DATA_FILES["yale_b_48x42"], DATA_FILES["yale_b_192x168"]
    quick = scale == "quick"
    yield Scene("table_2/subject_2", small if quick else large, 5 if quick else 50, 2)
    yield Scene("figure_8/subject_8", small, 5 if quick else 50, 8)
    for name, file in VIDEOS.items():
        yield Scene(f"table_3/{name}", file, 2 if quick else 10, halved=quick)


def jobs(scale: Scale) -> Iterator[Job]:
    """A job for each scene and seed."""
    for scene in scenes(scale):
        for seed in range(SEEDS[scale]):
            work = partial(separated, scene, seed, LIMIT[scale])
            yield Job(f"{scene.name}/seed_{seed}", work, (scene.file,))


def separated(scene: Scene, seed: int, limit: float) -> Row:
    """All methods on one scene."""
    images = scene.images()
    X = images.reshape(len(images), -1)
    rng = np.random.default_rng([seed, 8])
    stream = X[rng.permutation(np.tile(np.arange(len(X)), scene.copies))]
    found: Row = {"images": len(X), "copies": scene.copies, "pixels": list(images.shape[1:])}
    some = np.linspace(0, len(X) - 1, 4).astype(int)
    shown: dict[str, Array] = {"image": images[some]}
    for method in METHODS:
        run = learned(method, stream, 49, seed, limit)
        found[method] = measures(run, X) | {"cut_off": is_cut_off(run, len(stream))}
        shown[method] = run.reconstructed(X[some]).reshape(-1, *images.shape[1:])
    keep_picture(f"a {scene.name}", shown, limits=(0.0, 1.0))
    return found


def is_cut_off(run: Learned, count: int) -> bool:
    """Whether an online method did not see the whole stream."""
    return run.codes is not None and sum(len(rows) for rows, _ in run.codes.found) < count


def measures(run: Learned, X: Array) -> Row:
    """Seconds, and how much the low-rank part leaves."""
    rest = np.abs(X - run.reconstructed(X))
    return {
        "seconds": run.seconds,
        "rest": float(255 * rest.mean()),
        "explained": float(np.mean(rest <= WITHIN)),
    }
