"""Drums told apart and notes found: `SoundSeparator` beside scikit-learn's NMF and librosa.

``drums_808``: signal-to-distortion of kick, snare and hi-hat, blind (three parts of the mixture,
matched to the sources by the best sum) and taught (one part for each source, learned on its first
half; the second half of the mixture is taken apart). ``made_drums``: the same blind, on drum
machines that were made up. ``piano_mary``: the note of each part, and the onsets that were heard.
``long``: ten minutes of made drums, from file to files. Seconds of the processor beside seconds of
sound.

The eight windows of a part that lasts, and all constants, were chosen on made drums of the seeds
from 100 to 105, on the made tune and on ``piano_excerpt``; the seeds 1 to 8, ``drums_808`` and
``piano_mary`` were kept back.

    THRESHER_DATA=folder python benchmarks/sound.py
"""

import itertools
import resource
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from common import RESULTS, Row, clock, command_line, find_data_file, machine, write_json
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

import thresher
from thresher import SoundSeparator

# The sounds of `thresher sample`, and the transform of the separator for its peers: not public.
from thresher.datasets.samples.drums import RATE, drum_samples
from thresher.linalg import Array
from thresher.metrics import signal_to_distortion
from thresher.tasks.sound.spectrogram import Spectrogram, sizes, wiener

WINDOW = 2048  # at 44,100 samples a second
LASTING = 8  # windows of a part: a tenth of a second
Split = Callable[[Array, int, int], Array]


def stored(name: str) -> dict[str, Any]:
    with np.load(find_data_file(name), allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def ours(**parameters: Any) -> Split:
    def run(sound: Array, rate: int, seed: int) -> Array:
        model = SoundSeparator(3, window=window(rate), random_state=seed, verbose=0, **parameters)
        return model.fit(sound, rate=rate).separate(sound, rate=rate).parts

    return run


def window(rate: int) -> int:
    """Of the same length in seconds at every rate."""
    return WINDOW * rate // 44100


def by_factors(factorise: Callable[[Array, int], tuple[Array, Array]]) -> Split:
    def run(sound: Array, rate: int, seed: int) -> Array:
        gram = Spectrogram(window(rate), rate)
        spectra = gram.of(gram.padded(sound[:, None]))
        codes, parts = factorise(sizes(spectra, 1), seed)
        shared = wiener(spectra, codes.T[:, :, None] * parts[:, None, :])
        return gram.back(shared)[:, 0, gram.before :][:, : len(sound)]

    return run


def scikit_learn(V: Array, seed: int) -> tuple[Array, Array]:
    given = {"beta_loss": "kullback-leibler", "solver": "mu", "max_iter": 300}
    model = NMF(3, init="random", random_state=seed, **given)
    return model.fit_transform(V), model.components_


def librosa_way(V: Array, seed: int) -> tuple[Array, Array]:
    import librosa

    parts, codes = librosa.decompose.decompose(V.T, n_components=3, random_state=seed)
    return codes.T, parts.T


BLIND: dict[str, Split] = {
    "parts that last": ours(n_frames=LASTING, n_starts=5),
    "parts that last, one beginning": ours(n_frames=LASTING),
    "parts of one spectrum": ours(n_starts=5),
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


def blind(name: str, recordings: list[tuple[Array, int]], seeds: int) -> Row:
    """The median over beginnings and recordings."""
    found, seconds = [], []
    for (sources, rate), seed in itertools.product(recordings, range(seeds)):
        sound = sources.sum(axis=0)
        with clock() as spent:
            parts = BLIND[name](sound, rate, seed)
        found.append(best_match(sources, parts))
        seconds.append(spent.processor)
    sources, rate = recordings[0]
    return {
        "way": f"blind, {name}",
        "sdr": np.median(found, axis=0).round(1).tolist(),
        "least": np.min(found, axis=0).round(1).tolist(),
        "processor_seconds": round(float(np.median(seconds)), 2),
        "seconds_of_sound": round(sources.shape[1] / rate, 2),
    }


def taught(sources: Array, rate: int, n_frames: int) -> Row:
    half = sources.shape[1] // 2
    given = {"n_frames": n_frames, "random_state": 0, "verbose": 0}
    with clock() as spent:
        alone = [SoundSeparator(1, **given).fit(s[:half], rate=rate).parts_ for s in sources]
        model = SoundSeparator(3, init=np.concatenate(alone), frozen_atoms=[0, 1, 2], **given)
        mixture = sources.sum(axis=0)
        model.fit(mixture[:half], rate=rate)
        parts = model.separate(mixture[half:], rate=rate).parts
    pairs = zip(sources[:, half:], parts, strict=True)
    return {
        "way": f"taught, parts of {n_frames} windows",
        "sdr": [round(signal_to_distortion(s, p), 1) for s, p in pairs],
        "processor_seconds": round(spent.processor, 2),
    }


def drums(seeds: int) -> list[Row]:
    data = stored("drums_808.npz")
    rate, sources = int(data["sample_rate"]), data["sources"] / 32768
    rows = [blind(name, [(sources, rate)], seeds) for name in BLIND]
    return rows + [taught(sources, rate, n_frames) for n_frames in (1, LASTING)]


def made_drums() -> list[Row]:
    made = [(drum_samples(seed), RATE) for seed in range(1, 9)]
    return [blind(name, made, 1) for name in BLIND]


def piano(n_starts: int) -> Row:
    data = stored("piano_mary.npz")
    rate, sound = int(data["sample_rate"]), data["audio"]
    with clock() as spent:
        model = SoundSeparator(
            4, divergence="is", window=1024, n_starts=n_starts, random_state=0, verbose=0
        )
        onsets = model.fit(sound, rate=rate).onsets(sound, rate=rate)
    return {
        "beginnings": n_starts,
        "peaks_in_hertz": model.peaks_.round(1).tolist(),
        "onsets": [[round(o.time, 2), o.part, round(o.rise, 2)] for o in onsets],
        "processor_seconds": round(spent.processor, 2),
        "seconds_of_sound": round(len(sound) / rate, 2),
    }


def long(n_frames: int) -> Row:
    """From a file to files; memory above what was there before."""
    sound = drum_samples(1, bars=8).sum(axis=0)
    times = -(-600 * RATE // len(sound))
    with tempfile.TemporaryDirectory() as folder:
        source = f"{folder}/long.wav"
        with soundfile.SoundFile(source, "w", RATE, 1) as file:
            for _ in range(times):
                file.write(sound)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with clock() as spent:
            model = SoundSeparator(3, n_frames=n_frames, window=1024, random_state=0, verbose=0)
            recording = thresher.open(source)
            model.fit(recording).separate(recording, write=f"{folder}/parts")
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "n_frames": n_frames,
        "processor_seconds": round(spent.processor, 1),
        "seconds_of_sound": round(times * len(sound) / RATE),
        "megabytes": round((after - before) / 1024),
    }


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS / "sound.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        # Memory first, before anything else has taken some.
        record = {"machine": machine("scikit-learn", "librosa"), "long": [long(1), long(LASTING)]}
        record["piano_mary"] = [piano(1), piano(5)]
        record["drums_808"] = drums(options.seeds)
        record["made_drums"] = made_drums()
    for rows in itertools.islice(record.values(), 1, None):
        for row in rows:
            print(row)
    write_json(options.output, record)


if __name__ == "__main__":
    main()
