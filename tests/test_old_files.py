"""Files of format version 1, written when it was the only one, still load."""

from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from saved import back, same
from thresher import load
from thresher.losses import L1Distance
from thresher.penalties import ElasticNet
from thresher.persistence import FileError
from thresher.sets import NonnegativeL1Ball

OLD = Path(__file__).parent / "data" / "version_1"


@pytest.mark.parametrize("path", sorted(OLD.iterdir()), ids=lambda path: path.name)
def test_files_of_version_1_still_load(path, tmp_path):
    model = load(path)
    with safe_open(path, framework="numpy") as file:
        names = {"average", "model.average", "embedding", "sums"} & set(file.keys())
        atoms = file.get_tensor(min(names))
    if path.name == "symmetric":
        atoms = atoms.T
    shown = model.components_
    if path.name == "novelty":
        atoms = atoms.T
    if path.name.startswith("topics"):
        atoms = atoms / atoms.sum(axis=1, keepdims=True)
    if path.name == "novelty_of_terms":
        shown, atoms = np.sort(np.abs(shown[shown != 0])), np.sort(np.abs(atoms[atoms != 0]))
    np.testing.assert_allclose(shown, atoms, rtol=1e-12)
    again = back(model, tmp_path)  # as a file of today
    assert same(again, model)
    np.testing.assert_array_equal(again.components_, model.components_)


def test_parameters_of_version_1():
    model = load(OLD / "robust")
    assert model.feature_names_in_.tolist() == [f"sensor {i}" for i in range(5)]
    assert model.dictionary_set == NonnegativeL1Ball(2.0)
    assert model.code_penalty == ElasticNet(0.01, 0.1)
    assert (model.forgetting, list(model.frozen_atoms), model.random_state) == (500, [1], 0)
    assert model.threshold_ > 0
    assert load(OLD / "oiadmm").solver == "oiadmm"
    topics = load(OLD / "topics_of_words")
    assert topics.vocabulary == ["rain", "hills", "dogs", "cats"]
    assert topics.model.divergence == "hellinger"
    assert load(OLD / "novelty_of_model").model.divergence == "kl"
    assert L1Distance() == load(OLD / "oiadmm").divergence


def test_an_interrupted_fit_of_version_1_resumes():
    """It does not tell of which array it is, and so any of its shape is believed."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 2)) @ rng.random((2, 5))
    resumed = load(OLD / "interrupted").resume(X)
    assert resumed.n_samples_seen_ == 240
    assert resumed.score(X) > load(OLD / "interrupted").score(X)


@pytest.mark.parametrize("name", ["robust", "topics"])
def test_damage_to_arrays_and_documents_of_version_1_is_noticed(name, tmp_path):
    content = (OLD / name).read_bytes()
    start = content.index(b'"document"')
    for place in range(start, len(content), 7):
        path = tmp_path / "file"
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(FileError, match=r".{20}"):
            load(path)
