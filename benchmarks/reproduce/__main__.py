"""Run what is left of the experiments, and show where measured and published figures stand.

python -m benchmarks.reproduce [--data FOLDER] [--paper a] [--only figure_1] [--scale quick]
python -m benchmarks.reproduce --list        what is done and what is left
"""

import time
from importlib import import_module
from types import ModuleType

from benchmarks.common import command_line
from benchmarks.reproduce.jobs import Job, Scale, finished

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
            print(f"{where}: left out, it needs {', '.join(job.missing())} in --data", flush=True)
            continue
        print(f"{where} ...", end=" ", flush=True)
        started = time.perf_counter()
        job.run(paper, scale)
        print(f"{time.perf_counter() - started:.1f} s", flush=True)


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


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--paper", default=PAPERS, help="one or more of a, b, c, d, e")
    parser.add_argument("--only", default="", help="jobs whose name contains this")
    parser.add_argument("--scale", choices=("quick", "paper"), default="quick")
    parser.add_argument("--list", action="store_true", help="run nothing")
    given = parser.parse_args()
    if unknown := set(given.paper) - set(PAPERS):
        parser.error(f"--paper knows a, b, c, d and e, not {''.join(sorted(unknown))}")
    if not given.list:
        run_all(given.paper, given.scale, given.only)
    show(given.paper, given.scale, given.only)


if __name__ == "__main__":
    main()
