"""`evenshard data`: write the demo dataset."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from evenshard.dataset import SplitSummary, read_corpus, write_dataset
from evenshard.errors import UsageError


def data(
    destination: Annotated[
        str, typer.Argument(metavar="DEST", help="A folder that is new or empty.")
    ],
    *,
    shards: Annotated[int, typer.Option(min=1, help="Objects under train/.")] = 8,
    skew: Annotated[
        float,
        typer.Option(min=0.0, max=4.0, help="0: equal shards; 1: the first is N times the last."),
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Decides the order of the records.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write real mail, labelled spam or ham, as JSON Lines shards for three splits."""
    folder = _free_folder(destination)
    summary = write_dataset(read_corpus(), folder, shards=shards, skew=skew, seed=seed)
    if as_json:
        splits = {split: dataclasses.asdict(counts) for split, counts in summary.items()}
        typer.echo(json.dumps({"destination": str(folder), "splits": splits}))
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
    Console().print(table)
