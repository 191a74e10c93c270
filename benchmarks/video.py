"""VideoSeparator beside its peers: highway, planted objects in I2R clips, frames a second.

Highway (CDnet): 170 (unknown) is left out, 50 (shadow) is background, scored on the last 80 %.
Every peer stands with its own mask, and with the 5 × 5 median of its residual at the threshold that
is best for it, which nobody knows beforehand, and at three robust standard deviations of it. The
separator is causal, with its own threshold. MOG2 and KNN are OpenCV's: pip install
opencv-python-headless. Planted (`planted_video.py`): `held_back` are clips that were not looked at
while constants were chosen. Speed: at 120 × 160, and 640 × 480 in colours. What takes minutes can
be left out (--without RobustPCA GoDec OnlineRobustPCA), and then keeps its figures.

    python benchmarks/video.py --data FOLDER [--parts highway planted speed] [--clips lobby ...]
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    RESULTS,
    Row,
    command_line,
    find_data_file,
    interleaved,
    machine,
    read_json,
    spread,
    write_json,
)
from planted_video import CLIPS, EFFECTS, HELD_BACK, planted
from scipy.ndimage import median_filter

from thresher import GoDec, OnlineRobustPCA, VideoSeparator
from thresher.published.low_rank import default_weight, pursue

THRESHOLDS = (3, 5, 8, 10, 12, 15, 20, 25, 30, 35, 40, 50, 60)
DEVIATIONS = 3  # of the residual: a threshold that can be told beforehand
PURSUIT_STEPS = 40  # most videos end before
FIRST = 0.2  # of the frames, which are not scored


def scores(truth: Any, mask: Any, known: Any = None) -> Row:
    """F, precision and recall of a mask on the last 80 % of the frames."""
    start = round(FIRST * len(truth))
    known = np.ones_like(truth) if known is None else known
    truth, mask, known = truth[start:], mask[start:], known[start:]
    hits = int((truth & mask & known).sum())
    found, real = int((mask & known).sum()), int((truth & known).sum())
    return {
        "F": round(2 * hits / max(found + real, 1), 3),
        "precision": round(hits / max(found, 1), 3),
        "recall": round(hits / max(real, 1), 3),
    }


def median_of_flags(mask: Any) -> Any:
    """The 5 × 5 median filter of the separator."""
    return median_filter(mask.view(np.uint8), 5, mode="nearest").astype(bool)


def best_scores(truth: Any, sizes: Any, known: Any = None) -> Row:
    """At the best of all thresholds, after the median filter that the separator has."""
    rows = [scores_at(threshold, truth, sizes, known) for threshold in THRESHOLDS]
    return max(rows, key=lambda row: row["F"])


def scores_at(threshold: float, truth: Any, sizes: Any, known: Any = None) -> Row:
    mask = np.stack([median_of_flags(one > threshold) for one in sizes])
    return scores(truth, mask, known) | {"threshold": round(threshold, 2)}


# ------------------------------------------------------------------------------- methods


def separator(frames: Any) -> Any:
    return VideoSeparator(random_state=0, verbose=0).separate(frames).mask


def low_rank(model: Any) -> Callable[[Any], Any]:
    def sizes(frames: Any) -> Any:
        rows = frames.reshape(len(frames), -1).astype(np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of iterations
            parts = model.fit(rows).separate(rows)
        return np.abs(rows - parts.low_rank).reshape(frames.shape)

    return sizes


def pursued(frames: Any) -> Any:
    """The pursuit of `RobustPCA` itself: to code so many directions anew would take minutes."""
    rows = frames.reshape(len(frames), -1).astype(np.float32)
    *_, last = islice(pursue(rows, None, default_weight(rows.shape), 1e-4), PURSUIT_STEPS)
    return np.abs(rows - last.low_rank.product).reshape(frames.shape)


def median_sizes(frames: Any) -> Any:
    return np.abs(frames.astype(np.float32) - np.median(frames, axis=0))


def opencv(name: str) -> Callable[[Any], Any]:
    def mask(frames: Any) -> Any:
        import cv2

        model = getattr(cv2, f"createBackgroundSubtractor{name}")(detectShadows=True)
        return np.stack([model.apply(frame) for frame in frames]) == 255  # 127 is shadow

    return mask


def methods() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Those that give masks, and those that give residuals."""
    masks = {"VideoSeparator": separator}
    try:
        import cv2  # noqa: F401

        masks |= {"MOG2": opencv("MOG2"), "KNN": opencv("KNN")}
    except ImportError:
        print("Without MOG2 and KNN: pip install opencv-python-headless")
    residuals = {
        "RobustPCA": pursued,
        "GoDec": low_rank(GoDec(2, max_iter=50, random_state=0, verbose=0)),
        "OnlineRobustPCA": low_rank(OnlineRobustPCA(2, random_state=0, verbose=0)),
        "temporal median": median_sizes,
    }
    return masks, residuals


def rows_of(
    video: Any, truth: Any, known: Any = None, without: Sequence[str] = ()
) -> dict[str, Row]:
    """Every method on one video, but for some."""
    masks, residuals = methods()
    work = {name: job for name, job in {**masks, **residuals}.items() if name not in without}
    found: dict[str, Row] = {}
    for name, _, result, spent in interleaved(work, [video]):
        if name in masks:
            row = {"own": scores(truth, result, known)}
            filtered = np.stack([median_of_flags(one) for one in result])
            row["with median"] = scores(truth, filtered, known)
        else:
            row = {"best threshold": best_scores(truth, result, known)}
            usual = DEVIATIONS * 1.4826 * float(np.median(result))
            row["fixed threshold"] = scores_at(usual, truth, result, known)
        found[name] = row | {"frames_per_cpu_second": round(len(video) / spent.processor, 1)}
        print(f"  {name}: {found[name]}", flush=True)
    return found


# --------------------------------------------------------------------------------- parts


def highway(without: list[str]) -> Row:
    data = np.load(find_data_file("cdnet_highway_120x160.npz"))
    truth, known = data["gt"] == 255, data["gt"] != 170
    return rows_of(data["frames"], truth, known, without)


def planted_clips(
    clips: list[str], effects: list[str], without: list[str], before: Mapping[str, Row]
) -> Row:
    """Some effects in some clips; methods that are left out keep their figures."""
    found = dict(before)
    for clip in clips:
        for effect in effects:
            name = f"{clip}, {effect}"
            print(name, flush=True)
            video, truth = planted(clip, effect, seed=2)
            rows = rows_of(video, truth, without=without)
            found[name] = found.get(name, {}) | {"held_back": clip in HELD_BACK} | rows
    return found


def speed(rounds: int) -> Row:
    rng = np.random.default_rng(0)
    small, _ = planted("mall", "sway", seed=3, n_frames=300)
    small = small[:, :120]
    large = np.repeat(np.repeat(small[:96], 4, axis=1), 4, axis=2)[..., np.newaxis] // 2
    large = large + rng.integers(0, 4, (*large.shape[:3], 3), dtype=np.uint8)
    videos = {"120 × 160": small, "640 × 480, colours": large}
    jobs = {name: (lambda _, video=video: separator(video)) for name, video in videos.items()}
    taken: dict[str, list[Any]] = {name: [] for name in jobs}
    for name, _, _, spent in interleaved(jobs, range(rounds)):
        taken[name].append(spent)
    record = {}
    for name, all_spent in taken.items():
        n = len(videos[name])
        record[name] = {
            "frames_per_second": spread([n / spent.wall for spent in all_spent], 0),
            "frames_per_cpu_second": spread([n / spent.processor for spent in all_spent], 0),
        }
        print(name, record[name], flush=True)
    return record


def sheets(folder: Path) -> None:
    """Contact sheets of the clips as they are: frames, backgrounds and masks, to look at."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    for clip, name in CLIPS.items():
        frames = np.load(find_data_file(f"{name}.npz"))["frames"]
        background, _, mask = VideoSeparator(random_state=0, verbose=0).separate(frames)
        shown = np.linspace(len(frames) // 5, len(frames) - 1, 8).astype(int)
        flags = np.where(mask, 255, 0).astype(np.uint8)
        if frames.ndim == 4:
            flags = np.repeat(flags[..., np.newaxis], 3, axis=3)
        rows = [np.hstack(list(part[shown])) for part in (frames, background, flags)]
        Image.fromarray(np.vstack(rows)).save(folder / f"{clip}.png")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--parts", nargs="*", default=["highway", "planted", "speed"])
    parser.add_argument("--clips", nargs="+", default=list(CLIPS), choices=list(CLIPS))
    parser.add_argument("--effects", nargs="+", default=list(EFFECTS), choices=list(EFFECTS))
    parser.add_argument("--without", nargs="+", default=[], help="names of peers to leave out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sheets", type=Path, help="folder for contact sheets, not of the project")
    options = parser.parse_args()
    path = RESULTS / "video.json"
    record = read_json(path) | {"machine": machine("numpy", "scipy", "opencv-python-headless")}
    work = {
        "highway": lambda: record.get("highway", {}) | highway(options.without),
        "planted": lambda: planted_clips(
            options.clips, options.effects, options.without, record.get("planted", {})
        ),
        "speed": lambda: speed(options.rounds),
    }
    for part in options.parts:
        record[part] = work[part]()
        write_json(path, record)
    if options.sheets:
        sheets(options.sheets)


if __name__ == "__main__":
    main()
