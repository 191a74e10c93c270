"""``thresher transform``: new data, as a model sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.fit import Columns, Data, opened
from thresher.cli.frame import WrongUseError, existing
from thresher.cli.talk import Talk
from thresher.cli.topics import TextField, texts_from


def transform(
    talk: Talk,
    model: Annotated[Path, typer.Argument(help="What fit or topics wrote.")],
    data: Data,
    out: Annotated[
        Path, typer.Argument(help="Where to put the codes: .csv, .npy, .parquet or .feather.")
    ],
    columns: Columns = None,
    text: TextField = None,
) -> None:
    """Write the codes of data: how much of each part is in each sample.

    Of a model of topics DATA are documents, and the codes are the shares of its topics. Data are
    read batch by batch, however large they are.
    """
    import thresher

    learned = thresher.load(existing(model))
    if not hasattr(learned, "transform"):
        raise WrongUseError(f"{model} has a {type(learned).__name__}, which has no codes to write.")
    if hasattr(learned, "topics_"):
        source = texts_from(talk, data, text)
    else:
        names = getattr(learned, "feature_names_in_", None)
        source = opened(talk, data, columns, None if names is None else list(names))
    path = learned.transform(source, write=out)
    talk.show(f"Codes of {len(learned.components_)} parts are in {path}.")
    talk.answer(codes=path, names=list(learned.get_feature_names_out()))
