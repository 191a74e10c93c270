"""The report of `thresher demo`."""

from __future__ import annotations

from thresher import __version__
from thresher.report.builder import Report
from thresher.tasks.demo.result import DemoResult
from thresher.tasks.demo.run import BATCH_SIZE, N_COMPONENTS

_YOUR_OWN_VIDEO = """
import thresher  # pip install "thresher[video]"

video = thresher.open("street.mp4", color=True)
for background, foreground, mask in thresher.VideoSeparator().separate(video):
    ...  # a batch of frames, as they come

thresher.VideoSeparator().separate(video, write={"mask": "moving.mkv"})  # or into a file
"""


def demo_report(result: DemoResult) -> Report:
    """Tell what the demonstration found."""
    ours, peer = result.thresher.measures, result.minibatch_nmf.measures
    pictures = result.pictures()
    n_frames, height, width = result.scene.frames.shape
    report = Report(
        "A street without its traffic",
        f"Thresher watched {n_frames} frames go by, each once, and learned the empty street to "
        f"within {ours.relative_error:.1%}. What did not belong, it set aside. Mini-batch NMF "
        f"without outliers, on the same frames, is {peer.relative_error:.1%} off.",
        f"Thresher {__version__} · demonstration",
    )
    report.facts(
        [
            (f"{ours.psnr:.1f} dB", f"PSNR of the background; MiniBatchNMF {peer.psnr:.1f} dB"),
            (f"{ours.f1:.2f}", f"F1 of moving objects; MiniBatchNMF {peer.f1:.2f}"),
            (f"{ours.learning_speed:,.0f}", "frames learned per second, on one thread"),
            (f"{ours.separating_speed:,.0f}", "frames separated per second, on one thread"),
        ]
    )
    report.heading("What was seen, and what became of it")
    report.paragraph(
        "The scene is synthetic, so that the truth is known: cars and people cross a street while "
        "the sun sets, clouds pass, a lamp and windows light up, and two in a hundred pixels are "
        "black or white at random."
    )
    report.picture(
        pictures.frames,
        "Frames at five moments: as seen, the background, foreground and mask that Thresher found, "
        "and background and foreground of MiniBatchNMF",
        "The foreground is shown by twice its magnitude: black where the background explains a "
        "pixel. For MiniBatchNMF it is the residual. The mask is that of VideoSeparator, which "
        "judges every frame by those before it.",
    )
    report.heading("The parts it learned")
    report.paragraph(
        f"Each background is a sum of these {N_COMPONENTS} images, in shares that change with the "
        "light. No part is ever subtracted."
    )
    report.picture(pictures.atoms, f"The {N_COMPONENTS} learned atoms, as images")
    report.heading("How it learned")
    report.picture(
        pictures.convergence,
        "Loss against the number of frames seen",
        "Each batch before it is learned from. No background explains the objects and the noise, "
        "so even the true one has a loss, which follows the traffic. The gap to it is what was "
        "still to be learned: it narrows with time, and widens when a new light comes on.",
    )
    report.heading("Against the truth")
    report.table(
        ["", "Thresher", "MiniBatchNMF"],
        result.table(),
        caption=(
            f"Both had {N_COMPONENTS} components and saw batches of {BATCH_SIZE} frames once, in "
            "the order of time. Objects are found by the same rule for both: magnitude of what "
            "the background leaves, 3 × 3 median filter against the noise, and one threshold "
            "for the video by minimum cross entropy. Speed leaves out the first batch, in which "
            "kernels are compiled. Thresher has its default settings; MiniBatchNMF does not "
            "forget, which serves it better here than its default."
        ),
        emphasis=1,
    )
    report.heading("With your own video")
    report.code(_YOUR_OWN_VIDEO)
    report.footnote(
        f"{n_frames} frames of {width} × {height} pixels. Made by thresher demo, without a "
        "download."
    )
    return report
