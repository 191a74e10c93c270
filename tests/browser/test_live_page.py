"""The live page in a real browser: it loads, numbers move, buttons work, nothing is an error.

Run by ``.ci/browser``, which installs Debian's Chromium; screenshots are kept in ``build/browser``.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright
from typer.testing import CliRunner

import thresher
from thresher.cli import app

SHOTS = Path(__file__).parents[2] / "build" / "browser"
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
WIDTHS, SCHEMES = (1200, 380), ("light", "dark")
PATIENCE = 60_000  # milliseconds; machines of CI are busy
CROWDING = max(1.0, os.getloadavg()[0] / os.cpu_count())  # a second is less where many want it
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser():
    SHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


class Run:
    """A command that is running, and what it said."""

    def __init__(self, folder, *words):
        line = [sys.executable, "-c", "from thresher.cli import main; main()", *words]
        self.process = subprocess.Popen(
            line, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        self.said = []
        threading.Thread(target=self._listen, daemon=True).start()
        self.url = self.wait_for(r"Live page: (http://\S+)")

    def wait_for(self, pattern, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(pattern, "".join(self.said))
            if found:
                return found[1] if found.groups() else found[0]
            time.sleep(0.05)
        raise AssertionError(f"{pattern} in {self.said}")

    def _listen(self):
        for line in self.process.stderr:
            self.said.append(line)

    def interrupt(self):
        """Press Ctrl-C; the exit code, and the seconds that it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(20 * CROWDING)
        return code, time.monotonic() - began


@pytest.fixture
def run(tmp_path):
    """Start a command in a folder that has the samples."""
    running = []
    for kind in ("table", "video", "docs"):
        assert CliRunner().invoke(app, ["sample", kind, "--out", str(tmp_path)]).exit_code == 0

    def start(*words):
        running.append(Run(tmp_path, *words))
        return running[-1]

    yield start
    for one in running:
        one.process.kill()
        one.process.wait()
        one.process.stderr.close()


@pytest.fixture
def opened(browser):
    """Open pages, and see to it that no error was logged in any of them."""
    errors, pages = [], []

    def open_page(url, width=1200, scheme="light"):
        page = browser.new_page(
            viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
        )
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda m: errors.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith(url) else errors.append(r.url))
        page.goto(url)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert errors == []


def numbers(page):
    return [text.replace(",", "") for text in page.locator("#facts dd").all_inner_texts()]


def expect_move(page):
    """The first number, samples seen, grows."""
    first = page.locator("#facts dd").first
    expect(first).not_to_have_text("–")
    before = first.inner_text()
    expect(first).not_to_have_text(before)


def fits(page, name):
    """Nothing is wider than the screen; a picture is kept."""
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


KINDS = {
    "table": ("live", "table.csv", "--n-components", "3", "--rate", "60"),
    "video": ("live", "street.avi", "--n-components", "4", "--rate", "12"),
    "documents": ("live", "docs.jsonl", "--rate", "60"),
    "separate": ("separate", "street.avi", "--live", "--stay"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_run_is_shown_at_all_widths_in_both_schemes(kind, run, opened):
    running = run(*KINDS[kind])
    page = opened(running.url)
    if kind != "separate":  # which is over in a moment
        expect_move(page)
        expect(page.locator("#status")).to_have_text(re.compile("Learning|All is read"))
    expect(page.locator("#parts h3, #parts img").first).to_be_visible(timeout=PATIENCE)
    shown = {"table": "td", "documents": "blockquote"}.get(kind, "img")
    expect(page.locator(f"#sample {shown}").first).to_be_visible()
    expect(page.locator("#curve svg path.line")).to_have_count(1)
    fits(page, f"{kind}-light-1200")
    for width, scheme in [(380, "light"), (1200, "dark"), (380, "dark")]:
        other = opened(running.url, width, scheme)
        expect(other.locator(f"#sample {shown}").first).to_be_visible()
        fits(other, f"{kind}-{scheme}-{width}")
    for image in page.locator("img").all():
        assert image.get_attribute("alt")
        assert image.evaluate("one => one.naturalWidth") > 0


def test_buttons_pause_resume_save_and_change(run, opened, tmp_path):
    running = run("live", "table.csv", "--n-components", "3", "--rate", "150", "--n-passes", "99")
    page = opened(running.url)
    expect_move(page)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#status")).to_have_text("Paused")
    expect(page.get_by_role("button", name="Resume")).to_be_enabled()
    time.sleep(0.5)
    before = numbers(page)[0]
    time.sleep(1.5)
    assert numbers(page)[0] == before, "it learns while it is paused"

    page.get_by_label("Outlier weight λ", exact=True).fill("2.5")
    page.keyboard.press("Enter")
    expect(page.locator("#note")).to_have_text("Outlier weight λ is 2.5 from the next step on.")
    expect(page.locator("#sample p")).to_contain_text("of its entries are set aside")
    page.get_by_label("Half-life, in samples", exact=True).fill("<b>soon</b>")
    page.get_by_role("button", name="Change Half-life, in samples").click()
    expect(page.locator("#note")).to_contain_text("Got '<b>soon</b>'")
    page.get_by_label("Half-life, in samples", exact=True).fill("300")
    page.get_by_role("button", name="Change Half-life, in samples").click()
    expect(page.locator("#note")).to_contain_text("300")

    page.get_by_role("button", name="Save a checkpoint").click()
    expect(page.locator("#note")).to_contain_text(f"Saved after {int(before):,} samples")
    (file,) = tmp_path.glob("live-*.thr")
    model = thresher.load(file)
    assert (model.n_samples_seen_, model.outlier_weight) == (int(before), 2.5)
    assert [event.kind for event in model.history_.events] == ["outlier_weight", "forgetting"]
    page.screenshot(path=SHOTS / "paused.png", full_page=True)

    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#status")).to_have_text("Learning")
    expect_move(page)
    expect(page.locator("#noticed")).to_contain_text("the outlier weight was changed to 2.5")
    expect(page.locator("#noticed")).to_contain_text("the half-life was changed to 300 samples")

    code, seconds = running.interrupt()
    expect(page.locator("#status")).to_have_text("Ended")
    expect(page.get_by_role("button", name="Pause")).to_be_disabled()
    page.screenshot(path=SHOTS / "ended.png", full_page=True)
    assert code == 0
    assert seconds < 3 * CROWDING
    assert "what came until now counts" in "".join(running.said)


def test_everything_can_be_reached_by_keyboard(run, opened):
    running = run("live", "table.csv", "--n-components", "3", "--rate", "60")
    page = opened(running.url)
    expect(page.locator("#sample table")).to_be_visible(timeout=PATIENCE)
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.textContent")
        )
    for one in ("pause", "save", "control-outlier_weight", "control-forgetting"):
        assert one in reached
    assert page.locator("h1").count() == 1
    assert page.locator("[role=status]").count() >= 2
    unlabelled = page.locator("input:not([aria-describedby])").count()
    assert unlabelled == 0


def test_a_run_that_dies_is_told_from_one_that_is_quiet(browser, run):
    """Errors of the connection are logged by the browser itself here, as they should be."""
    running = run("live", "table.csv", "--n-components", "3", "--rate", "60")
    page = browser.new_page()
    page.goto(running.url)
    expect(page.locator("#status")).to_have_text("Learning")
    running.process.kill()
    expect(page.locator("#status")).to_have_text("Connection lost, trying again")
    expect(page.get_by_role("button", name="Pause")).to_be_disabled()
    page.close()
