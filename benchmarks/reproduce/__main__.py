"""Run what is left of the experiments, and show where measured and published figures stand.

python -m benchmarks.reproduce [--data FOLDER] [--paper a] [--only figure_1] [--scale quick]
python -m benchmarks.reproduce --list        what is done and what is left
python -m benchmarks.reproduce --page        one HTML page of everything; not to be passed on
python -m benchmarks.reproduce --text        the same without pictures, docs/lab/reproduced.md

``quick`` takes an hour and a half on two cores, with fewer copies, seeds, atoms or seconds, as each
module says; ``paper`` is as published, and takes days.
"""

import time
from importlib import import_module
from types import ModuleType

from benchmarks.common import command_line
from benchmarks.reproduce.jobs import Job, Scale, finished
from benchmarks.reproduce.page import PAGE, TEXT, html, text

PAPERS = "abcde"


def module_of(paper: str) -> ModuleType:
    return import_module(f"benchmarks.reproduce.paper_{paper}")


def jobs_of(paper: str, scale: Scale, only: str) -> list[Job]:
    return [job for job in module_of(paper).jobs(scale) if only in job.name]


def run_all(papers: str, scale: Scale, only: str) -> None:
    """Run every job that has no file yet, in order; a stop loses the one that runs."""
    left = [
        (paper, job)
        for paper in papers
        for job in jobs_of(paper, scale, only)
        if not job.path(paper, scale).exists()
    ]
    for n, (paper, job) in enumerate(left):
        where = f"[{n + 1}/{len(left)}] paper {paper.upper()}, {job.name}"
        if job.missing():
            print(f"{where}: left out. {how_to_get(job.missing())}", flush=True)
            continue
        print(f"{where} ...", end=" ", flush=True)
        started = time.perf_counter()
        job.run(paper, scale)
        print(f"{time.perf_counter() - started:.1f} s", flush=True)


def how_to_get(missing: list[str]) -> str:
    """Where the files of a job come from."""
    return (
        f"It needs {', '.join(missing)} in --data: public data that we may not pass on; "
        "docs/lab/paper_data.md says where they are, and which arrays a file has"
    )


def show(papers: str, scale: Scale, only: str) -> None:
    """What is done, with the tables of each paper, and what is left."""
    for paper in papers:
        jobs = jobs_of(paper, scale, only)
        done = dict(finished(paper, scale, jobs))
        print(f"\nPaper {paper.upper()}: {len(done)} of {len(jobs)} jobs done")
        for job in jobs:
            if job not in done:
                print(f"  left: {job.name}")
        module_of(paper).tell({job.name: result for job, result in done.items()})


def write_pages(as_page: bool, as_text: bool) -> None:
    """What was found so far, in one place."""
    for wanted, path, make in ((as_page, PAGE, html), (as_text, TEXT, text)):
        if wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(make().rstrip() + "\n", encoding="utf-8")
            print(path)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--paper", default=PAPERS, help="one or more of a, b, c, d, e")
    parser.add_argument("--only", default="", help="jobs whose name contains this")
    parser.add_argument("--scale", choices=("quick", "paper"), default="quick")
    parser.add_argument("--list", action="store_true", help="run nothing")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}, run nothing")
    parser.add_argument("--text", action="store_true", help=f"write {TEXT.name}, run nothing")
    given = parser.parse_args()
    if unknown := set(given.paper) - set(PAPERS):
        parser.error(f"--paper knows a, b, c, d and e, not {''.join(sorted(unknown))}")
    if given.page or given.text:
        write_pages(given.page, given.text)
        return
    if not given.list:
        run_all(given.paper, given.scale, given.only)
    show(given.paper, given.scale, given.only)


if __name__ == "__main__":
    main()
