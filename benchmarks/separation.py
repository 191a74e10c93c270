"""Figures 16, 18 and 19 of paper C (Guan, Tao, Luo and Shawe-Taylor): background, light and shadow.

A video of a hall is its background, of rank 2, and people; the faces of one person under 64 lights
are of rank 3, and shadows. The paper shows pictures only. There is no truth for either set, so what
is measured is how sparse the rest is: the share of pixels that are explained to within 5 of 255
grey levels, and the mean absolute rest. The Frobenius norm (scikit-learn) and `RobustNMF` are
beside it. (``--highway`` adds frames whose moving pixels are known: the best F1 score of any
threshold on the rest.)

    THRESHER_DATA=folder python benchmarks/separation.py --pictures folder_for_pictures
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, clock, command_line, write_json
from rich.console import Console
from rich.table import Table
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from thresher import ManhattanNMF, RobustNMF
from thresher.datasets import load_faces
from thresher.datasets.files import find_data_file
from thresher.plotting import frame_grid, to_png
from thresher.tasks.demo.foreground import best_f1, grey_levels


def videos(highway: bool) -> dict[str, tuple[Any, int, Any]]:
    """Images, rank, and moving pixels where they are known."""
    with np.load(find_data_file("i2r_hall_144x176.npz"), allow_pickle=False) as stored:
        hall = stored["frames"][stored["clip"] == 0]
    faces = load_faces("yale_b_192x168")
    sets = {"hall": (hall, 2, None), "face": (faces.images[faces.labels == 0], 3, None)}
    if highway:
        with np.load(find_data_file("cdnet_highway_120x160.npz"), allow_pickle=False) as stored:
            frames, truth = stored["frames"][::6], stored["gt"][::6]
        sets["highway"] = (frames, 2, truth)
    return sets


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--pictures", type=Path, help="folder for a picture of each set")
    parser.add_argument("--highway", action="store_true")
    parser.add_argument("--output", type=Path, default=RESULTS / "separation.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name, (images, K, truth) in videos(options.highway).items():
        X = images.reshape(len(images), -1) / 255.0
        columns, titles = [images[:: len(images) // 4][:4]], ["image"]
        for method, model in {
            "ManhattanNMF": ManhattanNMF(K, random_state=0, n_jobs=1, verbose=0),
            "RobustNMF": RobustNMF(K, random_state=0, n_jobs=1, verbose=0),
            "NMF, Frobenius": NMF(K, init="nndsvda", max_iter=500, random_state=0),
        }.items():
            with clock() as spent:
                low_rank = model.inverse_transform(model.fit(X).transform(X))
            rest = (255 * (X - low_rank)).reshape(images.shape)
            row = {
                "set": name,
                "rank": K,
                "method": method,
                "explained": round(float(np.mean(np.abs(rest) <= 5)), 4),
                "rest": round(float(np.mean(np.abs(rest))), 3),
                "seconds": round(spent.wall, 1),
            }
            if truth is not None:  # 255 moves, 170 is a border that nobody can tell
                known = truth != 170
                row["best_f1"] = round(best_f1((truth == 255)[known], grey_levels(rest)[known]), 4)
            print(row, flush=True)
            rows.append(row)
            step = len(images) // 4
            picture = 255 * low_rank.reshape(images.shape)[::step][:4]
            columns += [picture, np.abs(rest)[::step][:4]]
            titles += [f"{method}\nlow rank", "rest"]
        if options.pictures:
            options.pictures.mkdir(parents=True, exist_ok=True)
            figure = frame_grid(columns, titles, ["", "", "", ""], separators=(1, 3, 5))
            (options.pictures / f"separation_{name}.png").write_bytes(to_png(figure))
    table = Table("set", "rank", "method", "within 5 levels", "mean rest", "best F1", "s")
    for row in rows:
        shown = (f"{row['explained']:.1%}", f"{row['rest']:.2f}", str(row.get("best_f1", "")))
        table.add_row(row["set"], str(row["rank"]), row["method"], *shown, str(row["seconds"]))
    Console(width=110).print(table)
    write_json(options.output, {"summary": rows})


if __name__ == "__main__":
    main()
