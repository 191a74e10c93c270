"""What the contract is about: public classes on small data of every kind, under many parameters.

A case is a function without arguments that returns named results. Data come from `RandomState`,
whose numbers never change; steps and rounds are few, so that rounding errors stay small on any
machine.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

import thresher
from thresher import penalties, sets

Results = dict[str, Any]
N, F, K = 96, 24, 4


# ---------------------------------------------------------------------------- data


def low_rank(n: int = N, width: int = F) -> np.ndarray:
    """Nonnegative samples of K parts, one entry in twenty replaced by an outlier."""
    rng = np.random.RandomState(0)
    X = rng.gamma(0.7, size=(n, K)) @ rng.gamma(0.5, size=(K, width))
    X += 0.01 * rng.uniform(size=X.shape)
    return np.where(rng.uniform(size=X.shape) < 0.05, rng.uniform(0, 3 * X.max(), X.shape), X)


def counts() -> sparse.csr_array:
    """Counts of words, most of them zero."""
    rng = np.random.RandomState(1)
    rates = rng.gamma(0.3, size=(N, K)) @ rng.gamma(0.3, size=(K, F))
    return sparse.csr_array(rng.poisson(rates + 0.05).astype(float))


def with_missing() -> np.ndarray:
    """A fifth of the entries is missing."""
    X = low_rank()
    X[np.random.RandomState(2).uniform(size=X.shape) < 0.2] = np.nan
    return X


def sparse_in_a_basis() -> np.ndarray:
    """Sparse combinations of orthonormal atoms."""
    rng = np.random.RandomState(3)
    basis = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    return (rng.standard_normal((N, 8)) * (rng.uniform(size=(N, 8)) < 0.3)) @ basis


def sensors(n: int = 400) -> np.ndarray:
    """Six readings that follow two daily courses, with glitches."""
    rng = np.random.RandomState(4)
    hours = np.arange(n) / 24
    courses = np.stack([np.sin(2 * np.pi * hours), np.cos(2 * np.pi * hours / 7)], axis=1)
    X = 20 + courses @ rng.uniform(1, 3, size=(2, 6)) + 0.1 * rng.standard_normal((n, 6))
    X[50::60, 2] += 15
    return X


def texts() -> list[str]:
    """Documents of three subjects; the last ten are about a fourth one."""
    rng = np.random.RandomState(5)
    subjects = ("cat dog horse cow sheep goat", "rain wind snow storm cloud sun")
    subjects += ("goal team match player ball league", "atom proton quark energy field particle")
    which = np.r_[rng.randint(3, size=80), np.full(10, 3)]
    return [" ".join(rng.choice(subjects[s].split(), 12)) for s in which]


def photographs() -> np.ndarray:
    """Smooth pictures with spots."""
    rng = np.random.RandomState(6)
    y, x = np.mgrid[:16, :16] / 16
    parts = np.stack([x, y, x * y, 1 - x])
    X = np.tensordot(rng.dirichlet(np.ones(4), 30), parts, 1)
    return np.where(rng.uniform(size=X.shape) < 0.02, 1.0, X)


DATA: dict[str, Callable[[], Any]] = {
    "dense": low_rank,
    "float32": lambda: low_rank().astype(np.float32),
    "CSR": counts,
    "CSR, float32": lambda: counts().astype(np.float32),
    "missing": with_missing,
    "orthogonal": sparse_in_a_basis,
}


# ---------------------------------------------------------------------------- estimators


def learned(model: Any, data: str, weights: str = "") -> Results:
    """Atoms after three batches or a few rounds, codes, and whatever else the class gives."""
    X = DATA[data]()
    model = clone(model)  # a case gives the same results each time it is called
    known = model.get_params()
    wanted = {"verbose": 0, "random_state": 0}
    model.set_params(**{name: wanted[name] for name in wanted if name in known})
    weight = {}
    if weights == "samples":
        weight = {"sample_weight": np.random.RandomState(7).uniform(0.2, 2, N)}
    elif weights == "entries":
        weight = {"entry_weight": np.random.RandomState(7).uniform(0.2, 2, X.shape)}
    if hasattr(model, "partial_fit"):
        for rows in (slice(0, 40), slice(40, 47), slice(47, N)):
            model.partial_fit(X[rows], **{name: value[rows] for name, value in weight.items()})
    else:
        few = {"max_iter": 5, "code_max_iter": 5}
        model.set_params(**{name: few[name] for name in few if name in known}).fit(X, **weight)
    found = {"components": model.components_}
    if hasattr(model, "transform"):
        found["codes"] = model.transform(X[:20])
        found["scores"] = model.score_samples(X[:20])
    if hasattr(model, "separate") and not sparse.issparse(X):
        found["outliers"] = model.separate(X[:20]).outliers
    if data == "missing":
        found["imputed"] = model.impute(X[:20])
    return found


def _case(model: Any, data: str = "dense", weights: str = "") -> Callable[[], Results]:
    return lambda: learned(model, data, weights)


def _estimators() -> dict[str, Callable[[], Results]]:
    """The classes that learn a dictionary, by class, kind of data and what is not the default."""
    robust, batch = thresher.OnlineRobustNMF, thresher.RobustNMF
    online, alternating = thresher.OnlineNMF, thresher.BatchNMF
    l1, manhattan = thresher.OnlineL1Dictionary, thresher.ManhattanNMF
    orthogonal, pca = thresher.OnlineOrthogonalDictionary, thresher.OnlineRobustPCA
    symmetric = thresher.SymmetricManhattanNMF
    groups = penalties.GroupLasso(0.05, groups=(0, 0, 1, 1))
    return {
        "OnlineRobustNMF": _case(robust(K)),
        "OnlineRobustNMF, float32": _case(robust(K), "float32"),
        "OnlineRobustNMF, CSR": _case(robust(K), "CSR"),
        "OnlineRobustNMF, missing": _case(robust(K), "missing"),
        "OnlineRobustNMF, sample weights": _case(robust(K), weights="samples"),
        "OnlineRobustNMF, entry weights": _case(robust(K), weights="entries"),
        "OnlineRobustNMF, l21": _case(robust(K, outlier_penalty="l21")),
        "OnlineRobustNMF, nonnegative outliers": _case(
            robust(K, outlier_sign="nonnegative", outlier_bound=2.0, outlier_weight=0.2)
        ),
        "OnlineRobustNMF, forgetting": _case(robust(K, forgetting=50.0)),
        "OnlineRobustNMF, simplex": _case(robust(K, code_set="simplex")),
        "OnlineRobustNMF, opgd": _case(robust(K, solver="opgd")),
        "OnlineRobustNMF, oadmm": _case(robust(K, solver="oadmm")),
        "RobustNMF": _case(batch(K)),
        "RobustNMF, missing": _case(batch(K), "missing"),
        "RobustNMF, bpgd": _case(batch(K, solver="bpgd")),
        "RobustNMF, badmm": _case(batch(K, solver="badmm")),
        "OnlineNMF": _case(online(K)),
        "OnlineNMF, CSR": _case(online(K), "CSR"),
        "OnlineNMF, missing": _case(online(K), "missing"),
        "OnlineNMF, code penalties": _case(online(K, code_penalty=groups)),
        "OnlineNMF, dictionary penalty": _case(online(K, dictionary_penalty=0.1)),
        "OnlineNMF, elastic-net ball": _case(
            online(K, dictionary_set=sets.NonnegativeElasticNetBall(1.0, 0.5))
        ),
        "OnlineNMF, frozen atoms": _case(
            online(K, init=low_rank()[:K], frozen_atoms=[True, False, False, False])
        ),
        "OnlineNMF, kl": _case(online(K, divergence="kl")),
        "OnlineNMF, kl, CSR": _case(online(K, divergence="kl"), "CSR"),
        "OnlineNMF, kl, CSR, float32": _case(online(K, divergence="kl"), "CSR, float32"),
        "OnlineNMF, kl, missing": _case(online(K, divergence="kl"), "missing"),
        "OnlineNMF, is": _case(online(K, divergence="is")),
        "OnlineNMF, alpha": _case(online(K, divergence="alpha", divergence_parameter=0.5)),
        "OnlineNMF, beta": _case(online(K, divergence="beta", divergence_parameter=1.5)),
        "OnlineNMF, huber": _case(online(K, divergence="huber")),
        "OnlineNMF, l1": _case(online(K, divergence="l1")),
        "OnlineNMF, spsgd": _case(online(K, divergence="kl", solver="spsgd")),
        "OnlineNMF, ol_guan": _case(online(K, solver="ol_guan")),
        "OnlineNMF, ol_lef": _case(online(K, divergence="is", solver="ol_lef")),
        "OnlineNMF, ol_wang": _case(online(K, divergence="huber", solver="ol_wang")),
        "BatchNMF": _case(alternating(K)),
        "BatchNMF, kl, CSR": _case(alternating(K, divergence="kl"), "CSR"),
        "BatchNMF, mu": _case(alternating(K, divergence="kl", solver="mu")),
        "OnlineL1Dictionary": _case(l1(K)),
        "OnlineL1Dictionary, CSR": _case(l1(K, zero_weight=0.3), "CSR"),
        "OnlineL1Dictionary, missing": _case(l1(K), "missing"),
        "OnlineL1Dictionary, oiadmm": _case(l1(K, solver="oiadmm")),
        "L1Dictionary": _case(thresher.L1Dictionary(K)),
        "L1Dictionary, admm": _case(thresher.L1Dictionary(K, solver="admm")),
        "ManhattanNMF": _case(manhattan(K)),
        "ManhattanNMF, CSR": _case(manhattan(K, zero_weight=0.3), "CSR"),
        "ManhattanNMF, graph": _case(manhattan(K, graph=3)),
        "ManhattanNMF, elastic net": _case(manhattan(K, square_weight=0.5)),
        "ManhattanNMF, rri": _case(manhattan(K, solver="rri")),
        "ManhattanNMF, ogm": _case(manhattan(K, solver="ogm")),
        "OnlineOrthogonalDictionary": _case(orthogonal(), "orthogonal"),
        "OnlineOrthogonalDictionary, n_nonzero": _case(orthogonal(n_nonzero=2), "orthogonal"),
        "OnlineOrthogonalDictionary, noncvx_sfw": _case(
            orthogonal(solver="noncvx_sfw", p=4), "orthogonal"
        ),
        "OnlineOrthogonalDictionary, sfw": _case(orthogonal(solver="sfw"), "orthogonal"),
        "OnlineRobustPCA": _case(pca(K)),
        "OnlineRobustPCA, missing": _case(pca(K), "missing"),
        "RobustPCA": _case(thresher.RobustPCA()),
        "GoDec": _case(thresher.GoDec(K)),
        "SymmetricManhattanNMF": lambda: {
            "components": symmetric(3, max_iter=5, random_state=0, verbose=0)
            .fit(low_rank() @ low_rank().T)
            .components_
        },
    }


# ---------------------------------------------------------------------------- tasks


def video() -> Results:
    """A bright block crosses a noisy gradient."""
    rng = np.random.RandomState(8)
    frames = 60 + 80 * np.linspace(0, 1, 48) + 3 * rng.standard_normal((60, 36, 48))
    for t in range(60):
        frames[t, 12:20, (t % 40) : (t % 40) + 8] = 230
    model = thresher.VideoSeparator(random_state=0, verbose=0)
    background, _, mask = model.separate(frames.clip(0, 255).astype(np.uint8))
    return {"mask": mask, "background": background}


def images() -> Results:
    model = thresher.ImageDenoiser(random_state=0, verbose=0).fit(photographs())
    return {"denoised": model.denoise(photographs()[:5])[0]}


def tables(**parameters: Any) -> Results:
    X = sensors()
    X[100:110, 1] = np.nan
    cleaned = thresher.TableCleaner(random_state=0, verbose=0, **parameters).clean(X)
    return {"table": cleaned.table, "flags": cleaned.flags, "upper": cleaned.upper[100:110, 1]}


def novelty(**parameters: Any) -> Results:
    model = thresher.NovelDocumentDetector(10, random_state=0, verbose=0, **parameters)
    return {"scores": model.fit(texts()[:60]).novelty_scores(texts()[60:])}


def topics() -> Results:
    model = thresher.TopicModel(3, random_state=0, verbose=0).fit(texts())
    return {"components": model.components_, "topics": model.transform(texts()[:20])}


def compression(**parameters: Any) -> Results:
    """The readings that come back, and the bytes of the file where they are the same everywhere."""
    packed = thresher.SensorCodec(**parameters).compress(np.round(sensors(), 1))
    readings, _ = thresher.SensorCodec.decompress(packed)
    if parameters.get("mode") == "paper":  # decompositions differ in their last bits
        return {"readings": readings}
    return {"bytes": np.frombuffer(packed, np.uint8), "readings": readings}


def spectra() -> Results:
    """Mixtures of three smooth spectra, every pure pixel among them."""
    rng = np.random.RandomState(9)
    bands = np.linspace(0, 1, 30)
    pure = np.stack([1 - bands, 0.2 + 0.6 * np.sin(3 * bands), bands**2])
    shares = np.concatenate([np.eye(3), rng.dirichlet(np.ones(3), 141)])
    X = (shares @ pure + 0.01 * rng.uniform(size=(144, 30))).clip(0)
    model = thresher.SpectralUnmixer(3, random_state=0, verbose=0).fit(X)
    return {"components": model.components_, "shares": model.transform(X[:20])}


def sound() -> Results:
    """Two notes that overlap."""
    t = np.arange(8000) / 8000
    wave = np.sin(2 * np.pi * 440 * t) * (t < 0.6) + np.sin(2 * np.pi * 660 * t) * (t > 0.4)
    model = thresher.SoundSeparator(2, window=256, random_state=0, verbose=0).fit(wave, rate=8000)
    return {"sources": model.separate(wave, rate=8000)[0]}


def segments() -> Results:
    """Three regions."""
    y, x = np.mgrid[:24, :24]
    picture = np.where(x + y < 20, 0.2, np.where(y > 14, 0.9, 0.5))
    model = thresher.ImageSegmenter(3, n_superpixels=60, random_state=0, verbose=0)
    return {"segments": model.fit_predict(picture)}


def faces() -> Results:
    """Five people, six noisy pictures of each."""
    rng = np.random.RandomState(10)
    people = rng.uniform(size=(5, 60))
    X = np.clip(np.repeat(people, 6, 0) + 0.1 * rng.standard_normal((30, 60)), 0, 1)
    who = np.repeat(np.arange(5), 6)
    base = thresher.OnlineNMF(5, n_passes=2, random_state=0, verbose=0)
    model = thresher.FaceRecognizer(base, random_state=0, verbose=0).fit(X[::2], who[::2])
    return {"people": model.predict(X[1::2])}


CASES: dict[str, Callable[[], Results]] = {
    **_estimators(),
    "VideoSeparator": video,
    "ImageDenoiser": images,
    "TableCleaner": tables,
    "TableCleaner, causal": lambda: tables(causal=True),
    "NovelDocumentDetector": novelty,
    "TopicModel": topics,
    "SensorCodec": compression,
    "SensorCodec, lossless": lambda: compression(error=0),
    "SensorCodec, largest error": lambda: compression(max_error=0.3, effort=1),
    "SensorCodec, paper": lambda: compression(mode="paper", n_nonzero=2),
    "SpectralUnmixer": spectra,
    "SoundSeparator": sound,
    "ImageSegmenter": segments,
    "FaceRecognizer": faces,
}
