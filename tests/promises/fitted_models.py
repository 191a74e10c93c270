"""A small fitted model of every public class, and how to write false files of them."""

import dataclasses
from functools import cache

import numpy as np
from scipy import sparse

import thresher
from thresher import (
    BatchNMF,
    FaceRecognizer,
    GoDec,
    ImageDenoiser,
    ImageSegmenter,
    L1Dictionary,
    ManhattanNMF,
    NovelDocumentDetector,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    RobustPCA,
    SoundSeparator,
    SpectralUnmixer,
    SymmetricManhattanNMF,
    TableCleaner,
    TopicModel,
    VideoSeparator,
    load,
    save,
)
from thresher.persistence import read_file, write_file
from thresher.testing.data import planted

QUIET = {"random_state": 3, "verbose": 0}
BATCH = {**QUIET, "tol": 1e-2}
STREAM = {**QUIET, "batch_size": 16, "n_passes": 1}
TEXTS = [
    "rain falls on hills", "wind and rain north", "snow on northern hills", "dogs bark loud",
    "cats purr dogs bark", "cats purr loud",
] * 8  # fmt: skip


def samples(n_samples=48, n_features=6, seed=0):
    return planted(n_samples, n_features, seed)


@cache
def image():
    rng = np.random.default_rng(0)
    return np.clip(np.kron(np.eye(2), np.ones((6, 8))) + 0.05 * rng.random((12, 16)), 0, 1)


def followed(cleaner):
    cleaner.follow(samples())
    return cleaner


def _frames(n_frames):
    rng = np.random.default_rng(0)
    return rng.integers(100, 110, (n_frames, 12, 16)).astype(np.uint8)


def _sound():
    return np.sin(np.arange(3000) ** 1.3)


def _similarities():
    X = samples()
    return X @ X.T


MAKERS = {
    "OnlineRobustNMF": lambda: OnlineRobustNMF(3, **STREAM).fit(samples()),
    "RobustNMF": lambda: RobustNMF(3, **BATCH).fit(samples()),
    "OnlineRobustPCA": lambda: OnlineRobustPCA(3, **STREAM).fit(samples()),
    "RobustPCA": lambda: RobustPCA(tol=1e-2, verbose=0).fit(samples()),
    "GoDec": lambda: GoDec(3, **BATCH).fit(samples()),
    "OnlineNMF": lambda: OnlineNMF(3, divergence="kl", **STREAM).fit(samples()),
    "BatchNMF": lambda: BatchNMF(3, divergence="is", **BATCH).fit(samples() + 0.1),
    "OnlineL1Dictionary": lambda: OnlineL1Dictionary(3, **STREAM).fit(samples()),
    "L1Dictionary": lambda: L1Dictionary(3, **BATCH).fit(samples()),
    "ManhattanNMF": lambda: ManhattanNMF(3, **BATCH).fit(samples()),
    "OnlineOrthogonalDictionary": lambda: OnlineOrthogonalDictionary(**STREAM).fit(samples()),
    "SymmetricManhattanNMF": lambda: SymmetricManhattanNMF(3, **BATCH).fit(_similarities()),
    "TopicModel": lambda: TopicModel(2, **QUIET).fit(TEXTS),
    "NovelDocumentDetector": lambda: NovelDocumentDetector(3, **QUIET).fit(TEXTS),
    "FaceRecognizer": lambda: FaceRecognizer(ManhattanNMF(3, **BATCH), **QUIET).fit(
        samples(), np.array(["Ann", "Bo", "Çelik"])[np.arange(48) % 3]
    ),
    "TableCleaner": lambda: followed(TableCleaner(causal=True, random_state=3)),
    "ImageDenoiser": lambda: ImageDenoiser(**QUIET).fit(samples().reshape(-1, 2, 3)),
    "ImageSegmenter": lambda: ImageSegmenter(2, **QUIET).fit(image()),
    "VideoSeparator": lambda: VideoSeparator(**QUIET).fit(_frames(20)),
    "SoundSeparator": lambda: SoundSeparator(2, window=64, **QUIET).fit(_sound(), rate=8000),
    "SpectralUnmixer": lambda: SpectralUnmixer(3, **QUIET).fit(samples()),
}


def answers(model):
    """What a model says of data that it has not seen, as an array of numbers."""
    if hasattr(model, "labels_"):
        return np.concatenate([model.labels_.ravel(), model.embedding_.ravel()])
    if isinstance(model, SymmetricManhattanNMF):
        return model.embedding_
    if isinstance(model, ImageDenoiser):
        return model.denoise(samples(20, seed=1).reshape(-1, 2, 3)).clean
    if isinstance(model, TableCleaner):
        return model.follow(samples(20, seed=1)).scores
    if isinstance(model, FaceRecognizer):
        names = model.predict(samples(20, seed=1))
        return np.searchsorted(model.classes_, names)
    if isinstance(model, NovelDocumentDetector):
        return model.step([*TEXTS[:5], "a parliament votes on budgets"]).scores
    if isinstance(model, TopicModel):
        return model.transform(TEXTS[:6])
    if isinstance(model, SoundSeparator):
        return model.separate(_sound()[:1000], rate=8000).parts
    if isinstance(model, VideoSeparator):
        return model.separate(_frames(40)[20:]).background
    return model.transform(samples(20, seed=1) + 0.1)


def public_models():
    """Every class that the library shows and that has parameters."""
    kinds = (getattr(thresher, name) for name in thresher.__all__)
    return [kind for kind in kinds if isinstance(kind, type) and hasattr(kind, "get_params")]


def same(a, b):
    """Equal in type and in value, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
    if sparse.issparse(a):
        return a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if hasattr(a, "get_params"):
        return same(a.get_params(deep=False), b.get_params(deep=False))
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    return a == b


def back(model, tmp_path):
    """A model that was a file in between."""
    save(model, tmp_path / "model")
    return load(tmp_path / "model")


def forge(path, change):
    """Change what a file holds, and give it the checksum that belongs to that."""
    arrays, document = read_file(path)
    change(arrays, document)
    write_file(path, arrays, document)
