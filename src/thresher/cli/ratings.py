"""``thresher ratings``: what users would rate best of what they have not rated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli.frame import ReportFile, WrongUseError, existing, made, seeded
from thresher.cli.talk import Talk


def ratings(
    talk: Talk,
    table: Annotated[
        Path,
        typer.Argument(
            help="A .csv, .parquet or .feather file: users, items and ratings in its first three "
            "columns; others, such as times, are passed over."
        ),
    ],
    out: Annotated[Path, typer.Argument(help="Where to put the recommendations: a CSV file.")],
    count: Annotated[int, typer.Option(help="Items for each user.", min=1)] = 10,
    model: Annotated[Path | None, typer.Option(help="Where to save the model.")] = None,
    report: ReportFile = None,
    **parameters: Any,
) -> None:
    """Tell how users would rate what they have not rated, and recommend the best of it."""
    import csv
    import io

    import thresher
    from thresher.persistence import checked_target, write_atomically
    from thresher.tasks.ratings.reading import read_ratings

    if out.suffix != ".csv":
        raise WrongUseError(f"{out} must end in .csv.")
    for target in (out, model):
        if target is not None:
            checked_target(target)
    learner = made(thresher.RatingModel, seeded(talk, parameters))
    triples, names = read_ratings(existing(table))
    learner.fit(triples)
    best = learner.recommend(n=count)
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(names)
    for user, items, told in zip(*best, strict=True):
        writer.writerows(
            [user, item, f"{rating:.2f}"]
            for item, rating in zip(items, told, strict=True)
            if item is not None
        )
    write_atomically(out, content.getvalue().encode())
    suspicious = [str(each) for each in learner.suspicious_users_]
    users, items = len(learner.users_), len(learner.items_)
    talk.answer(
        ratings=learner.n_ratings_seen_,
        users=users,
        items=items,
        suspicious_users=suspicious,
        recommendations=out,
    )
    talk.show(f"{learner.n_ratings_seen_:,} ratings of {items:,} items by {users:,} users: {out}")
    if suspicious:
        talk.show(f"Suspicious users, who do not count for others: {', '.join(suspicious[:12])}")
    if model is not None:
        thresher.save(learner, model)
        talk.answer(model=model)
        talk.show(f"model: {model}")
    if report is not None:
        from thresher.tasks.ratings.report import ratings_report

        talk.write_report(ratings_report(learner), report)
