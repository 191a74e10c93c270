"""What commands do with scenes, sounds and models: classes are stand-ins."""

import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import thresher
from heard import Heard, Model, cells, stand_in_for
from thresher.cli.choose import choose
from thresher.cli.frame import WrongUseError
from thresher.cli.inspect_model import inspect_model
from thresher.cli.sound import sound
from thresher.cli.transform import transform
from thresher.cli.unmix import unmix


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def talk():
    return Heard()


@pytest.fixture
def stand_in(monkeypatch):
    return partial(stand_in_for, monkeypatch)


# --------------------------------------------------------------------------- spectra, sound


@pytest.fixture
def scene(monkeypatch, stand_in):
    shares = np.array([[[0.25, 0.75], [0.75, 0.25]], [[1.0, 0.0], [1.0, 0.0]]])
    kind = stand_in(
        "SpectralUnmixer", endmembers_=np.array([[1.5, 2.0], [1 / 3, 0.0]]),
        bad_bands_=np.array([False, True, True]), has_pure_pixels_=True, n_components=None,
        transform=lambda X: shares,
    )  # fmt: skip
    monkeypatch.setattr("thresher.tasks.spectra.report.unmixing_report", lambda *what: what)
    np.save("s.npy", np.ones((2, 2, 3)))
    return SimpleNamespace(kind=kind, shares=shares)


def test_shares_and_spectra_of_a_scene_are_written(talk, scene):
    unmix(talk, Path("s.npy"), Path("o.npy"), Path("e.csv"), Path("p.html"), random_state=2)
    np.testing.assert_array_equal(np.load("o.npy"), scene.shares)
    assert Path("e.csv").read_text() == "1.5,2\n0.333333333,0\n"
    assert talk.chosen == {"n_components": (2, "so many directions stand out of the noise")}
    np.testing.assert_allclose(talk.answers.pop("mean_shares"), [0.75, 0.25])
    assert talk.answers.pop("bad_bands").tolist() == [1, 2]
    assert talk.answers == {"shares": Path("o.npy"), "has_pure_pixels": True}
    assert talk.shown == [
        "2 pure spectra, with mean shares of 75%, 25%: o.npy",
        "Bad bands, which were left out: 1, 2",
    ]
    ((page, path),) = talk.reports
    assert page[0] is scene.kind.last
    np.testing.assert_array_equal(page[1], np.ones((2, 2, 3)))
    assert path == Path("p.html")


def test_a_scene_without_bad_bands_and_with_a_known_number(talk, scene):
    scene.kind.about = scene.kind.about | {"bad_bands_": np.zeros(3, bool), "n_components": 2}
    Path("s.csv").write_text("a,b\n1,2\n3,4\n")
    unmix(talk, Path("s.csv"), Path("o.npy"))
    np.testing.assert_array_equal(scene.kind.last.calls[0][1], [[1, 2], [3, 4]])
    assert talk.chosen == {}
    assert len(talk.shown) == 1
    assert not talk.reports
    with pytest.raises(WrongUseError, match=r"o\.csv must end in \.npy: shares are numbers"):
        unmix(talk, Path("s.npy"), Path("o.csv"))
    Path("b.npy").write_bytes(b"no")
    with pytest.raises(ValueError, match=r"b\.npy is no array of numbers"):
        unmix(talk, Path("b.npy"), Path("o.npy"))
    for targets in ((Path("no/o.npy"),), (Path("o.npy"), Path("no/e.csv"))):
        with pytest.raises(FileNotFoundError, match="no such folder"):
            unmix(talk, Path("s.npy"), *targets)


def test_parts_of_a_recording_are_told_with_their_onsets(talk, stand_in, monkeypatch):
    from collections import namedtuple

    Onset = namedtuple("Onset", "time part rise")
    onsets = [Onset(0.5, 1, 0.9), Onset(1.25, 1, 0.4)]
    kind = stand_in("SoundSeparator", peaks_=[440.4, 880.0], _onsets=lambda codes: onsets)
    monkeypatch.setattr("thresher.tasks.sound.audio.sound_source", lambda path: ("source", path))
    monkeypatch.setattr(
        "thresher.tasks.sound.audio.recording_of", lambda source, rate: ("all of", source, rate)
    )
    written = []
    monkeypatch.setattr(
        "thresher.tasks.sound.separator.write_parts",
        lambda *what: written.append(what) or ([Path("o/0.wav"), Path("o/1.wav")], "codes"),
    )
    monkeypatch.setattr("thresher.tasks.sound.report.sound_report", lambda *what: what)
    Path("r.wav").write_text("")
    sound(talk, Path("r.wav"), Path("o"), Path("p.html"), random_state=None)
    source = ("source", Path("r.wav"))
    assert kind.last.parameters == {"random_state": 0}
    assert kind.last.calls == [("fit", source)]
    assert written == [(Path("o"), kind.last, ("all of", source, None))]
    assert talk.answers == {
        "parts": [Path("o/0.wav"), Path("o/1.wav")], "peaks": [440.4, 880.0],
        "onsets": [[0.5, 1, 0.9], [1.25, 1, 0.4]],
    }  # fmt: skip
    assert talk.shown == [
        "o/0.wav: highest at 440 Hz; never sets in",
        "o/1.wav: highest at 880 Hz; sets in at 0.50, 1.25 s",
    ]
    assert talk.reports == [((kind.last, "codes"), Path("p.html"))]
    sound(quiet := Heard(), Path("r.wav"), Path("o"))
    assert not quiet.reports
    with pytest.raises(WrongUseError, match=r"r\.wav is there already; give a folder that is not"):
        sound(talk, Path("r.wav"), Path("r.wav"))


# ------------------------------------------------------------------- choose, transform, inspect


class Chosen(Model):
    """A model with three settings."""

    def get_params(self):
        return {"n_components": 1, "divergence": 2, "batch_size": 3}


@pytest.fixture
def choosing(monkeypatch):
    table = {
        "n_components": [2, 3], "error": np.array([0.5, 0.123456]),
        "standard_error": np.array([0.1, 0.2]), "behind": np.array([0.25, 0.0]),
        "stability": np.array([np.nan, 0.876]), "seconds": np.array([1.25, 2.5]),
    }  # fmt: skip
    choice = SimpleNamespace(table_=table, best_index_=1, best_params_={"n_components": 3})
    given = []
    monkeypatch.setattr(
        thresher, "choose", lambda *what, **how: given.append((what, how)) or choice, raising=False
    )
    monkeypatch.setattr(thresher, "OnlineNMF", Chosen, raising=False)
    monkeypatch.setattr("thresher.cli.choose.opened", lambda *what: ("source", *what[1:]))
    monkeypatch.setattr("thresher.tasks.choice.report.choice_report", lambda one: ("page", one))
    return SimpleNamespace(given=given, choice=choice)


def test_settings_to_try_reach_the_choice(talk, choosing):
    choose(
        talk, "d.csv", "OnlineNMF", "2,3", divergence="kl,2", rule="one_se", n_masks=5,
        batch_size=64, columns="a,b", report=Path("p.html"),
    )  # fmt: skip
    (((model, source), how),) = choosing.given
    assert model.parameters == {"random_state": 0, "batch_size": 64}
    assert source == ("source", "d.csv", "a,b")
    assert how == {
        "rule": "one_se", "n_masks": 5, "refit": False, "n_components": [2, 3],
        "divergence": ["kl", 2],
    }  # fmt: skip
    assert talk.answers["best"] == {"n_components": 3}
    assert talk.answers["table"]["error"] == [0.5, 0.123456]
    assert json.dumps(talk.answers["table"]["n_components"]) == "[2, 3]"
    table, said = talk.shown
    assert cells(table) == [
        ["n_components", "error", "standard_error", "behind", "stability"],
        ["2", "0.5", "0.1", "0.25", "nan"], ["3", "0.1235", "0.2", "0", "0.876"],
    ]  # fmt: skip
    assert said == "n_components = 3: hidden entries are 0.1235 off on average."
    assert talk.reports == [(("page", choosing.choice), Path("p.html"))]


def test_usual_settings_of_a_choice_and_what_a_model_lacks(talk, choosing, monkeypatch):
    choose(talk, "d.csv", "OnlineNMF")
    (((model, source), how),) = choosing.given
    assert model.parameters == {"random_state": 0}
    assert source == ("source", "d.csv", None)
    assert how["n_components"] == list(range(2, 21))
    assert (how["rule"], how["n_masks"]) == ("lowest", 3)
    assert set(how) == {"n_components", "rule", "n_masks", "refit"}
    assert not talk.reports
    for option in ("outlier_weight", "forgetting"):
        with pytest.raises(WrongUseError, match=f"OnlineNMF has no {option}; leave it out"):
            choose(talk, "d.csv", "OnlineNMF", **{option: "1"})
    with pytest.raises(WrongUseError, match="There is no estimator 'Nmf'; use one of BatchNMF"):
        choose(talk, "d.csv", "Nmf")
    monkeypatch.setattr(thresher, "RobustPCA", Chosen, raising=False)
    choose(talk, "d.csv", "RobustPCA", "none")
    assert choosing.given[-1][0][0].parameters == {}
    assert "n_components" not in choosing.given[-1][1]


def learned(**about):
    usual = {"components_": np.ones((3, 2)), "get_feature_names_out": lambda: np.array(["a", "b"])}
    model = SimpleNamespace(calls=[], **(usual | about))
    model.transform = lambda source, write: model.calls.append((source, write)) or Path("o2.csv")
    return model


def test_codes_are_written_from_the_columns_that_were_learned(talk, monkeypatch):
    model = learned(feature_names_in_=np.array(["x", "y"], dtype=object))
    monkeypatch.setattr(thresher, "load", lambda path: model)
    monkeypatch.setattr("thresher.cli.transform.opened", lambda *what: ("source", *what[1:]))
    monkeypatch.setattr("thresher.cli.transform.texts_from", lambda *what: ("texts", *what[1:]))
    Path("m.thr").write_text("")
    transform(talk, Path("m.thr"), "d.csv", Path("o.csv"), "x,y")
    assert model.calls == [(("source", "d.csv", "x,y", ["x", "y"]), Path("o.csv"))]
    assert talk.shown == ["Codes of 3 parts are in o2.csv."]
    assert talk.answers == {"codes": Path("o2.csv"), "names": ["a", "b"]}
    model = learned()
    transform(talk, Path("m.thr"), "d.csv", Path("o.csv"))
    assert model.calls[0][0] == ("source", "d.csv", None, None)
    model = learned(topics_=[1])
    transform(talk, Path("m.thr"), "d.csv", Path("o.csv"), text="body")
    assert model.calls[0][0] == ("texts", "d.csv", "body")
    model = SimpleNamespace()
    with pytest.raises(WrongUseError, match=r"m\.thr has a SimpleNamespace, which has no codes"):
        transform(talk, Path("m.thr"), "d.csv", Path("o.csv"))


def test_a_file_of_a_model_is_looked_into(talk, monkeypatch):
    model = SimpleNamespace(_page=lambda: "page")
    loaded, told = [], []
    monkeypatch.setattr(thresher, "load", lambda path: loaded.append(path) or model)
    monkeypatch.setattr("thresher.cli.summary.show_summary", lambda *what: told.append(what))
    Path("m.thr").write_text("")
    inspect_model(talk, Path("m.thr"))
    assert (loaded, told, talk.reports) == ([Path("m.thr")], [(talk, model)], [])
    inspect_model(talk, Path("m.thr"), Path("p.html"))
    assert talk.reports == [("page", Path("p.html"))]
