"""`evenshard data`: write the demo dataset."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from evenshard.commands.numbers import number, whole_number
from evenshard.dataset import SplitSummary, check_shards, read_corpus, write_dataset
from evenshard.errors import UsageError
from evenshard.output import say


def data(
    destination: Annotated[
        str, typer.Argument(metavar="DEST", help="A folder that is new or empty.")
    ],
    *,
    shards: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=whole_number("--shards", least=1),
            help="Objects under train/, 1 or more.",
        ),
    ] = 8,
    skew: Annotated[
        float,
        typer.Option(
            metavar="NUMBER",
            parser=number("--skew", least=0, most=4),
            help="0 to 4. 0: equal shards; 1: the first is N times the last.",
        ),
    ] = 0.0,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=whole_number("--seed", least=0),
            help="Decides the order of the records; 0 or more.",
        ),
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write real mail, labelled spam or ham, as JSON Lines shards for three splits."""
    folder = _free_folder(destination)
    check_shards(shards)
    mails = read_corpus()
    try:
        summary = write_dataset(mails, folder, shards=shards, skew=skew, seed=seed)
    except OSError as error:
        raise UsageError(
            f"DEST {destination} cannot be written: {error}. Name a folder in a place that "
            "you may write to and that has room."
        ) from error
    if as_json:
        splits = {split: dataclasses.asdict(counts) for split, counts in summary.items()}
        say(json.dumps({"destination": str(folder), "splits": splits}))
    else:
        _print_table(folder, summary)


def _free_folder(destination: str) -> Path:
    if "://" in destination:
        raise UsageError(
            f"DEST {destination} is not a folder, and only folders are written so far. Write to a "
            f"folder, then copy it: aws s3 cp --recursive FOLDER {destination}"
        )
    folder = Path(destination)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        what = "a folder that is not empty" if folder.is_dir() else "a file"
        raise UsageError(
            f"DEST {destination} is {what}: nothing is overwritten. Name a folder that is new or "
            "empty, or remove this one."
        )
    return folder


def _print_table(folder: Path, summary: dict[str, SplitSummary]) -> None:
    table = Table("split", title=f"Wrote {folder}/", title_justify="left")
    for column in ("objects", "bytes", "records", "spam"):
        table.add_column(column, justify="right")
    for split, counts in summary.items():
        table.add_row(split, *(f"{value:,}" for value in dataclasses.astuple(counts)))
    console = Console()
    with console.capture() as printed:
        console.print(table)
    say(printed.get().removesuffix("\n"))
