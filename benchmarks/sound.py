"""Drums told apart and notes found: `SoundSeparator` beside scikit-learn's NMF and librosa.

``drums_808``: signal-to-distortion of kick, snare and hi-hat, blind (three parts of the mixture,
matched to the sources by the best sum) and taught (one part for each source, learned on its first
half; the second half of the mixture is taken apart). ``piano_mary``: the note of each part, and the
onsets that were heard. Seconds of the processor beside seconds of sound.

    THRESHER_DATA=folder python benchmarks/sound.py
"""

import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import librosa
import numpy as np
from common import RESULTS, Row, clock, command_line, machine, write_json
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

from thresher import SoundSeparator
from thresher.datasets.files import find_data_file
from thresher.linalg import Array
from thresher.metrics import signal_to_distortion
from thresher.tasks.sound.spectrogram import Spectrogram, sizes, wiener

WINDOW = 2048
Split = Callable[[Array, int, int], Array]


def stored(name: str) -> dict[str, Any]:
    with np.load(find_data_file(name), allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def ours(**parameters: Any) -> Split:
    def run(sound: Array, rate: int, seed: int) -> Array:
        model = SoundSeparator(3, random_state=seed, verbose=0, **parameters).fit(sound, rate=rate)
        return model.separate(sound, rate=rate).parts

    return run


def by_factors(factorise: Callable[[Array, int], tuple[Array, Array]]) -> Split:
    def run(sound: Array, rate: int, seed: int) -> Array:
        gram = Spectrogram(WINDOW, rate)
        spectra = gram.of(sound[:, None])
        codes, parts = factorise(sizes(spectra, 1), seed)
        shared = wiener(spectra, codes, parts)
        return np.stack([gram.back(each, len(sound))[:, 0] for each in shared])

    return run


def scikit_learn(V: Array, seed: int) -> tuple[Array, Array]:
    given = {"beta_loss": "kullback-leibler", "solver": "mu", "max_iter": 300}
    model = NMF(3, init="random", random_state=seed, **given)
    return model.fit_transform(V), model.components_


def librosa_way(V: Array, seed: int) -> tuple[Array, Array]:
    parts, codes = librosa.decompose.decompose(V.T, n_components=3, random_state=seed)
    return codes.T, parts.T


BLIND: dict[str, Split] = {
    "SoundSeparator, KL": ours(n_starts=5),
    "scikit-learn NMF, KL": by_factors(scikit_learn),
    "librosa.decompose": by_factors(librosa_way),
}


def best_match(sources: Array, parts: Array) -> list[float]:
    orders = itertools.permutations(range(len(parts)))
    scores = [
        [signal_to_distortion(s, parts[k]) for s, k in zip(sources, order, strict=True)]
        for order in orders
    ]
    return max(scores, key=sum)


def drums(seeds: int) -> list[Row]:
    data = stored("drums_808.npz")
    rate, sources = int(data["sample_rate"]), data["sources"] / 32768
    sound = data["mixture"] / 32768
    rows = []
    for name, split in BLIND.items():
        found, seconds = [], []
        for seed in range(seeds):
            with clock() as spent:
                parts = split(sound, rate, seed)
            found.append(best_match(sources, parts))
            seconds.append(spent.processor)
        rows.append(
            {
                "way": f"blind, {name}",
                "sdr": np.median(found, axis=0).round(1).tolist(),
                "least": np.min(found, axis=0).round(1).tolist(),
                "processor_seconds": round(float(np.median(seconds)), 2),
                "seconds_of_sound": round(len(sound) / rate, 2),
            }
        )
    half = len(sound) // 2
    with clock() as spent:
        known = [
            SoundSeparator(1, random_state=0, verbose=0).fit(s[:half], rate=rate).parts_
            for s in sources
        ]
        model = SoundSeparator(
            3, init=np.concatenate(known), frozen_atoms=[0, 1, 2], random_state=0, verbose=0
        ).fit(sound[:half], rate=rate)
        parts = model.separate(sound[half:], rate=rate).parts
    pairs = zip(sources[:, half:], parts, strict=True)
    taught = [round(signal_to_distortion(s, p), 1) for s, p in pairs]
    taken = round(spent.processor, 2)
    rows.append({"way": "taught, SoundSeparator", "sdr": taught, "processor_seconds": taken})
    return rows


def piano() -> Row:
    data = stored("piano_mary.npz")
    rate, sound = int(data["sample_rate"]), data["audio"]
    with clock() as spent:
        model = SoundSeparator(4, divergence="is", window=1024, random_state=0, verbose=0)
        onsets = model.fit(sound, rate=rate).onsets(sound, rate=rate)
    peaks = model.frequencies_[model.parts_.argmax(axis=1)]
    return {
        "peaks_in_hertz": peaks.round(1).tolist(),
        "onsets": [[round(o.time, 2), o.part, round(o.rise, 2)] for o in onsets],
        "processor_seconds": round(spent.processor, 2),
        "seconds_of_sound": round(len(sound) / rate, 2),
    }


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS / "sound.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        record = {"machine": machine("scikit-learn", "librosa"), "piano_mary": piano()}
        print(record["piano_mary"], flush=True)
        record["drums_808"] = drums(options.seeds)
    for row in record["drums_808"]:
        print(row)
    write_json(options.output, record)


if __name__ == "__main__":
    main()
