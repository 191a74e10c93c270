"""The package as it was installed: it learns, takes apart, saves, loads, and finds topics."""

import tempfile
from pathlib import Path

import numpy as np

from thresher import OnlineRobustNMF, TopicModel, load, save

rng = np.random.default_rng(0)
samples = rng.random((300, 3)) @ rng.random((3, 20))
samples[::7, ::5] += 2
model = OnlineRobustNMF(3, random_state=0, verbose=0).fit(samples)
low_rank, outliers, codes = model.separate(samples)
assert np.abs(low_rank + outliers - samples).mean() < 0.05
with tempfile.TemporaryDirectory() as folder:
    save(model, Path(folder) / "model.thresher")
    again = load(Path(folder) / "model.thresher")
np.testing.assert_array_equal(again.transform(samples), codes)
texts = ["the cat and the dog", "dogs chase a cat", "rain and wind", "wind and rain"] * 50
assert len(TopicModel(2, random_state=0).fit(texts).topics_) == 2
print("right")
