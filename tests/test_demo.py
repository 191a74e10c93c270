"""The demonstration, its report and its pictures."""

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from thresher import __version__
from thresher.cli import app
from thresher.plotting import atom_grid, convergence_curve, frame_grid, to_png
from thresher.report import Report
from thresher.tasks.demo import run as demo
from thresher.tasks.demo.foreground import automatic_threshold, best_f1, grey_levels
from thresher.tasks.demo.result import DemoResult, busy_moments
from thresher.tasks.demo.run import run_demo

# ------------------------------------------------------------------------ the command


def test_quick_demo_ends_with_the_path_of_a_self_contained_report(tmp_path: Path):
    out = tmp_path / ("a rather long name of a folder " * 4) / "report"
    done = CliRunner().invoke(app, ["demo", "--quick", "--out", str(out)], env={"COLUMNS": "40"})
    assert done.exit_code == 0, done.output
    path = Path(done.output.splitlines()[-1])
    assert path.is_file()
    assert path.parent == out
    page = path.read_text(encoding="utf-8")
    assert "http://" not in page
    assert "https://" not in page
    assert "url(" not in page
    assert "<script" not in page
    assert "<link" not in page
    sources = re.findall(r"""(?:src|href)\s*=\s*["']?([^"'>]{0,40})""", page)
    assert len(sources) == 3
    assert all(source.startswith("data:image/png;base64,") for source in sources)


def test_version():
    assert CliRunner().invoke(app, ["--version"]).output.strip() == f"thresher {__version__}"


def test_interruption_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("thresher.tasks.demo.run.run_demo", interrupted)
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
    assert done.exit_code == 130
    assert "Interrupted" in done.output
    assert "Traceback" not in done.output
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_refused_at_once(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "file" / "folder")])
    assert done.exit_code == 2
    assert "--out" in done.output


# ------------------------------------------------------------------------ the task


@pytest.fixture(scope="module")
def result() -> DemoResult:
    return run_demo(1, quick=True)


def test_separation_beats_minibatch_nmf(result: DemoResult):
    ours, peer = result.thresher.measures, result.minibatch_nmf.measures
    assert ours.relative_error < 0.7 * peer.relative_error
    assert ours.psnr > peer.psnr + 3
    assert ours.f1 > max(0.75, peer.f1)
    assert ours.best_f1 > peer.best_f1
    assert ours.f1 <= ours.best_f1


def test_the_mask_is_shown_and_measured(result: DemoResult):
    assert result.mask.shape == result.scene.foreground.shape
    assert result.watched.recall > 0.5  # light that changes too fast is flagged as well
    assert f"{result.watched.f1:.2f}" in dict(row[:2] for row in result.table()).values()


def test_each_frame_is_learned_from_once(result: DemoResult):
    assert result.samples[-1] == len(result.scene.frames)
    assert (np.diff(result.samples) > 0).all()
    assert result.loss_of_truth.shape == result.loss.shape


def test_progress_is_told_for_every_stage():
    told: dict[str, list[int]] = {}
    run_demo(
        quick=True, progress=lambda stage, done, total: told.setdefault(stage, []).append(done)
    )
    assert len(told) == 5
    assert all(done[0] == 0 and done[-1] == 300 for done in told.values())


def test_busy_moments_are_in_order_and_busy():
    foreground = np.zeros((40, 4, 4), dtype=bool)
    foreground[[2, 13, 21, 32]] = True
    np.testing.assert_array_equal(busy_moments(foreground, 4), [2, 13, 21, 32])
    assert len(busy_moments(foreground[:2], 5)) == 5


def test_threshold_parts_few_bright_pixels_from_many_dark_ones():
    rng = np.random.default_rng(0)
    truth = rng.random((5, 30, 30)) < 0.03
    levels = np.where(truth, rng.integers(40, 200, truth.shape), rng.integers(0, 12, truth.shape))
    levels = levels.astype(np.uint8)
    assert 11 <= automatic_threshold(levels) < 40
    assert best_f1(truth, levels) == 1.0
    assert automatic_threshold(np.zeros((1, 3, 3), dtype=np.uint8)) == 0


def test_the_threshold_has_the_least_cross_entropy():
    """Of all levels, tried one by one; black and empty classes add nothing."""
    rng = np.random.default_rng(1)
    for levels in (
        np.minimum(rng.gamma(0.5, 20, (2, 20, 20)), 255).astype(np.uint8),
        rng.integers(200, 256, (1, 9, 9)).astype(np.uint8),
        np.where(rng.random((1, 9, 9)) < 0.2, 255, 254).astype(np.uint8),
    ):
        flat = levels.ravel().astype(float)
        gains = []
        for t in range(256):
            classes = flat[flat <= t], flat[flat > t]
            gains.append(sum(c.sum() * np.log(c.mean()) for c in classes if c.sum() > 0))
        assert gains[automatic_threshold(levels)] == pytest.approx(max(gains), rel=1e-12)
        truth = rng.random(levels.shape) < 0.3
        scores = [2 * (truth & (levels >= t)).sum() for t in range(256)]
        counts = [max((levels >= t).sum() + truth.sum(), 1) for t in range(256)]
        assert best_f1(truth, levels) == pytest.approx(np.max(np.divide(scores, counts)))


def test_measures_are_those_of_the_truth(result: DemoResult):
    scene, measures = result.scene, result.thresher.measures
    background = result.thresher.background
    assert background.shape == result.thresher.foreground.shape == scene.frames.shape
    error = np.square(scene.background - background).mean()
    assert measures.psnr == pytest.approx(10 * np.log10(255**2 / error), rel=1e-4)
    ratio = np.linalg.norm(scene.background - background) / np.linalg.norm(scene.background)
    assert measures.relative_error == pytest.approx(ratio, rel=1e-4)
    levels = grey_levels(scene.frames - background)
    found, truth = levels > automatic_threshold(levels), scene.foreground
    hits = (found & truth).sum()
    assert measures.precision == pytest.approx(hits / found.sum())
    assert measures.recall == pytest.approx(hits / truth.sum())
    assert measures.f1 == pytest.approx(2 * hits / (found.sum() + truth.sum()))
    assert measures.best_f1 == best_f1(truth, levels)
    assert min(measures.learning_speed, measures.separating_speed) > 0
    peer = result.minibatch_nmf
    np.testing.assert_allclose(peer.foreground, scene.frames - peer.background, atol=1e-3)
    seen = result.mask[60:], truth[60:]  # a fifth of the video is for getting to know the scene
    both = (seen[0] & seen[1]).sum()
    assert result.watched.f1 == pytest.approx(2 * both / (seen[0].sum() + seen[1].sum()))


def test_the_loss_of_the_truth_is_that_of_objects_and_noise(result: DemoResult):
    scene = result.scene
    E = (scene.frames - scene.background).reshape(30, 10, -1).astype(float)
    weight = np.abs(E).max()  # beyond the largest error there is no corner: half the squares
    quadratic = demo._loss_of_truth(scene, weight)
    np.testing.assert_allclose(quadratic, 0.5 * np.square(E).sum(axis=2).mean(axis=1), rtol=1e-6)
    assert len(result.loss) == 30
    assert result.atoms.shape == (6, 48, 64)
    assert result.atoms.dtype == np.float32


def test_a_table_has_each_measure_in_its_own_form(result: DemoResult):
    names = [name for name, *_ in result.table()]
    assert len(names) == 9
    ours, peer = result.thresher.measures, result.minibatch_nmf.measures
    rows = {name: values for name, *values in result.table()}
    for name, form, field in (
        ("Background: PSNR, dB", "{:.1f}", "psnr"),
        ("Background: relative error", "{:.1%}", "relative_error"),
        ("Moving objects: precision", "{:.2f}", "precision"),
        ("Moving objects: recall", "{:.2f}", "recall"),
        ("Moving objects: F1", "{:.2f}", "f1"),
        ("F1 at the best threshold", "{:.2f}", "best_f1"),
        ("Learning: frames/s, one thread", "{:,.0f}", "learning_speed"),
        ("Separating: frames/s, one thread", "{:,.0f}", "separating_speed"),
    ):
        assert rows[name] == [form.format(getattr(one, field)) for one in (ours, peer)], name
    assert rows["F1 of VideoSeparator, as the video runs"] == [f"{result.watched.f1:.2f}", "–"]
    assert names.index("F1 of VideoSeparator, as the video runs") == 6


def test_frames_are_worked_through_in_order_and_the_first_batch_is_not_timed(monkeypatch):
    clock = iter(np.cumsum([0, 7, 2, 1, 3]).tolist())
    monkeypatch.setattr(demo.time, "perf_counter", lambda: next(clock))
    seen, told = [], []
    speed = demo._each_batch(10, 4, lambda rows: seen.append((rows.start, rows.stop)), told.append)
    assert seen == [(0, 4), (4, 8), (8, 10)]
    assert told == [0, 4, 8, 10]
    assert speed == pytest.approx(6 / (2 + 3))
    monkeypatch.setattr(demo.time, "perf_counter", lambda: 1.0)
    assert np.isnan(demo._each_batch(4, 4, lambda rows: None, told.append))


def test_single_pixels_are_filtered_out():
    residual = np.zeros((1, 9, 9))
    residual[0, 4, 4] = -200.0
    assert not grey_levels(residual).any()
    residual[0, 3:6, 3:6] = -200.0
    assert grey_levels(residual)[0, 4, 4] == 200


# ------------------------------------------------------------------------ report and pictures


def test_report_escapes_everything():
    evil = "<script>alert('&\"')</script>"
    report = (
        Report(evil, evil, evil)
        .heading(evil)
        .paragraph(evil)
        .facts([(evil, evil)])
        .table([evil, evil], [[evil, evil]], caption=evil, emphasis=1)
        .picture(b"png", evil, evil)
        .code(evil)
        .footnote(evil)
    )
    page = report.html()
    assert "<script" not in page
    assert "alert('" not in page
    assert page.count("&lt;script&gt;") == 17


def test_report_refuses_a_ragged_table():
    with pytest.raises(ValueError, match="2 cells"):
        Report("title").table(["a", "b"], [["1"]])


def test_frame_grid_has_a_panel_per_image():
    video = np.arange(2 * 6 * 8, dtype=float).reshape(2, 6, 8)
    figure = frame_grid([video, video, video], ["a", "b\nc", "d"], ["1", "2"], separators=(1,))
    assert len(figure.axes) == 6
    assert to_png(figure).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="titles"):
        frame_grid([video], ["a", "b"], ["1", "2"])
    with pytest.raises(ValueError, match="one shape"):
        frame_grid([video, video[:1]], ["a", "b"], ["1", "2"])


def test_atom_grid_has_a_panel_per_atom():
    atoms = np.zeros((5, 6, 8))
    assert len(atom_grid(atoms).axes) == 5
    assert len(atom_grid(atoms, titles=list("abcde"), n_columns=2).axes) == 5
    with pytest.raises(ValueError, match="height"):
        atom_grid(atoms[0])


def test_convergence_curve_keeps_every_step():
    samples, loss = np.arange(1, 101) * 10, np.linspace(5, 1, 100)
    (axes,) = convergence_curve(samples, loss).axes
    steps, mean = axes.lines
    np.testing.assert_array_equal(steps.get_ydata(), loss)
    np.testing.assert_allclose(mean.get_ydata()[5:-5], loss[5:-5])
    assert axes.get_yscale() == "log"
    assert len(convergence_curve(samples, loss, loss / 2).axes[0].lines) == 3
    assert convergence_curve([1], [0.0]).axes[0].get_yscale() == "linear"
