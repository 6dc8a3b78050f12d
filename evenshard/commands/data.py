"""`evenshard data`: write the demo dataset."""

import dataclasses
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from evenshard.commands.numbers import number, whole_number
from evenshard.dataset import SplitSummary, check_shards, read_corpus, write_dataset
from evenshard.dataset_upload import upload_dataset
from evenshard.errors import RefusedError, UsageError
from evenshard.output import say, say_table
from evenshard.s3_folder import folder_or_s3
from training.shards.location import Location

Summary = dict[str, SplitSummary]
MakeDataset = Callable[[Path], Summary]
"""Writes the dataset into a folder."""
Writer = Callable[[MakeDataset], Summary]
"""Brings the dataset to where it belongs."""


def data(
    destination: Annotated[
        str,
        typer.Argument(
            metavar="DEST", help="A new or empty folder, of this machine or of S3 (s3://...)."
        ),
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
    """Write the demo data: real mail as JSON Lines.

    Each mail is labelled spam or ham. The shards lie below train/, validation/ and test/.
    """
    place = folder_or_s3(destination, option="DEST")
    write = _s3_writer(place) if isinstance(place, Location) else _folder_writer(place)
    count = check_shards(shards)
    if not as_json:
        say(f"Reading {count:,} mails ...")
    mails = read_corpus()
    summary = write(
        lambda folder: write_dataset(mails, folder, shards=shards, skew=skew, seed=seed)
    )
    if as_json:
        splits = {split: dataclasses.asdict(counts) for split, counts in summary.items()}
        say(json.dumps({"destination": str(place), "splits": splits}))
    else:
        _print_table(str(place), summary)


def _folder_writer(folder: Path) -> Writer:
    """Writes into a folder.

    Raises:
        UsageError: it is not free.
    """
    if os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        what = "a folder that is not empty" if folder.is_dir() else "no folder"
        raise UsageError(
            f"DEST {folder} is {what}: nothing is overwritten. Name a folder that is new or empty, "
            "or remove this one."
        )

    def write(make: MakeDataset) -> Summary:
        try:
            return make(folder)
        except OSError as error:
            raise UsageError(
                f"DEST {folder} cannot be written: {error.strerror}. Name a folder in a place that "
                "you may write to and that has room."
            ) from error

    return write


def _s3_writer(location: Location) -> Writer:
    """Writes into an S3 folder.

    Raises:
        UsageError: it is not free.
        ServiceError: S3 cannot be asked.
    """
    # Writing to a folder needs neither the SDK nor the time that its import takes.
    from evenshard.simulator.storage.s3_objects import open_s3  # noqa: PLC0415 - see above

    store = open_s3()
    if store.holds(str(location)):
        raise UsageError(
            f"DEST {location} holds objects: nothing is overwritten. Name an S3 folder that is new "
            f"or empty, or empty it: aws s3 rm --recursive {location}"
        )

    def write(make: MakeDataset) -> Summary:
        try:
            with tempfile.TemporaryDirectory() as folder:
                dataset = Path(folder) / "dataset"
                summary = make(dataset)
                upload_dataset(dataset, location, store)
                return summary
        except OSError as error:
            raise RefusedError(
                f"DEST {location}: the dataset cannot be written to a temporary folder first: "
                f"{error}. Free disk space, or name another folder for it with TMPDIR."
            ) from error

    return write


def _print_table(place: str, summary: Summary) -> None:
    rows = [
        (split, *(f"{value:,}" for value in dataclasses.astuple(counts)))
        for split, counts in summary.items()
    ]
    say(f"Wrote {place.rstrip('/')}/")
    say_table((("split", "objects", "bytes", "records", "spam"), *rows))
