"""What the demonstration found: its measures, its table and its pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from thresher.datasets import SurveillanceScene
from thresher.linalg import Array
from thresher.metrics import SupportScores, support_scores
from thresher.plotting import atom_grid, convergence_curve, for_page, frame_grid

Video = NDArray[np.float32]
PEAK = 255.0  # the largest grey level of a byte


@dataclass(frozen=True)
class Measures:
    """How well a video was taken apart, against the truth, and how fast.

    Attributes
    ----------
    psnr : float
        Of the background, in decibels, for a peak of 255.
    relative_error : float
        Of the background.
    precision, recall, f1 : float
        Of the mask of moving pixels, at the automatic threshold.
    best_f1 : float
        Of the best mask that any threshold gives.
    learning_speed, separating_speed : float
        Frames per second on one thread, without the first batch, in which kernels are compiled.
    """

    psnr: float
    relative_error: float
    precision: float
    recall: float
    f1: float
    best_f1: float
    learning_speed: float
    separating_speed: float


@dataclass(frozen=True, eq=False)
class TakenApart:
    """A video as one method took it apart, with the measures of that."""

    background: Video
    foreground: Video
    measures: Measures


@dataclass(frozen=True, eq=False)
class DemoPictures:
    """The pictures of a demonstration, as PNG files, for a page and for a phone."""

    frames: tuple[bytes, bytes]
    atoms: tuple[bytes, bytes]
    convergence: tuple[bytes, bytes]


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What the demonstration found.

    Attributes
    ----------
    scene : SurveillanceScene
        The video and its truth.
    thresher, minibatch_nmf : TakenApart
        What `OnlineRobustNMF` and scikit-learn's ``MiniBatchNMF`` made of it.
    mask : array of bool, shape (n_frames, height, width)
        What `VideoSeparator` saw moving, judged in every frame by those before it.
    atoms : array of shape (n_components, height, width)
        Learned atoms.
    samples, loss : arrays of shape (n_steps,)
        The history of learning.
    loss_of_truth : array of shape (n_steps,)
        What the loss would be for the true background: that of objects and noise.
    """

    scene: SurveillanceScene
    thresher: TakenApart
    minibatch_nmf: TakenApart
    mask: NDArray[np.bool_]
    atoms: Video
    samples: Array
    loss: Array
    loss_of_truth: Array

    def table(self) -> list[tuple[str, str, str]]:
        """Name of each measure, and its value for Thresher and for MiniBatchNMF, as text."""
        ours, peer = self.thresher.measures, self.minibatch_nmf.measures
        rows = [
            ("Background: PSNR, dB", "{:.1f}", ours.psnr, peer.psnr),
            ("Background: relative error", "{:.1%}", ours.relative_error, peer.relative_error),
            ("Moving objects: precision", "{:.2f}", ours.precision, peer.precision),
            ("Moving objects: recall", "{:.2f}", ours.recall, peer.recall),
            ("Moving objects: F1", "{:.2f}", ours.f1, peer.f1),
            ("F1 at the best threshold", "{:.2f}", ours.best_f1, peer.best_f1),
            ("Learning: frames/s, one thread", "{:,.0f}", ours.learning_speed, peer.learning_speed),
            (
                "Separating: frames/s, one thread",
                "{:,.0f}",
                ours.separating_speed,
                peer.separating_speed,
            ),
        ]
        told = [(name, form.format(a), form.format(b)) for name, form, a, b in rows]
        f1 = f"{self.watched.f1:.2f}"
        return [*told[:6], ("F1 of VideoSeparator, as the video runs", f1, "–"), *told[6:]]

    @property
    def watched(self) -> SupportScores:
        """How well `VideoSeparator` tells what moves, once it knows the scene."""
        start = len(self.mask) // 5
        truth = self.scene.foreground[start:]
        return support_scores(truth, self.mask[start:].astype(np.float64), 0.5)

    def pictures(self, n_rows: int = 5) -> DemoPictures:
        """Draw frames at busy moments, the atoms, and the course of learning."""
        return DemoPictures(
            for_page(lambda: self._frames(busy_moments(self.scene.foreground, n_rows))),
            for_page(lambda: atom_grid(self.atoms)),
            for_page(self._curve),
        )

    def _frames(self, moments: NDArray[np.intp]) -> Figure:
        return frame_grid(
            [
                self.scene.frames[moments],
                self.thresher.background[moments],
                2 * np.abs(self.thresher.foreground[moments]),
                PEAK * self.mask[moments],
                self.minibatch_nmf.background[moments],
                2 * np.abs(self.minibatch_nmf.foreground[moments]),
            ],
            [
                "\nseen",
                "Thresher\nbackground",
                "Thresher\nforeground",
                "Thresher\nmask",
                "MiniBatchNMF\nbackground",
                "MiniBatchNMF\nforeground",
            ],
            [f"frame {moment + 1}" for moment in moments],
            limits=(0.0, PEAK),
            separators=(1, 4),
        )

    def _curve(self) -> Figure:
        n_pixels = self.scene.frames[0].size
        return convergence_curve(
            self.samples,
            self.loss / n_pixels,
            self.loss_of_truth / n_pixels,
            sample_name="frames seen",
            loss_name="loss per pixel",
            legend=("each batch", "running mean", "true background"),
        )


def busy_moments(foreground: NDArray[np.bool_], n_moments: int) -> NDArray[np.intp]:
    """Numbers of the frames with the most moving pixels, one from each part of the video."""
    area = foreground.sum(axis=(1, 2))
    edges = np.linspace(0, len(area), 2 * n_moments + 1).astype(int)
    # Only the first half of each part: moments on two sides of a border would look the same.
    halves = [np.arange(a, max(a + 1, b)) for a, b in zip(edges[:-1:2], edges[1::2], strict=True)]
    return np.array([half[np.argmax(area[half])] for half in halves], dtype=np.intp)
