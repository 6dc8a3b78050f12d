"""What is usually written by hand: everything in a list, or files read line by line."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Lines(Dataset[str]):
    """All lines in memory, as the usual advice for sharded channels has it."""

    def __init__(self, paths: list[Path]) -> None:
        self._lines: list[str] = []
        for path in paths:
            with path.open(encoding="utf-8") as file:
                self._lines.extend(file.readlines())

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, index: int) -> str:
        return self._lines[index].strip()


class JsonLines(Lines):
    """The same with a parsed record for each line."""

    def __getitem__(self, index: int) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self._lines[index])


class OpenFiles(IterableDataset[str]):
    """The lines of files as they come, each worker with its own files."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths

    def __iter__(self) -> Iterator[str]:
        worker = get_worker_info()
        paths = self._paths if worker is None else self._paths[worker.id :: worker.num_workers]
        for path in paths:
            with path.open(encoding="utf-8") as file:
                yield from file


def readlines(folder: Path, batch_size: int, workers: int) -> Iterable[Any]:
    """Read lines, all in memory, shuffled."""
    dataset = Lines(sorted(folder.iterdir()))
    return DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=workers)


def readlines_json(folder: Path, batch_size: int, workers: int) -> Iterable[Any]:
    """Read JSON Lines, all in memory, shuffled; a batch is a list of dicts."""
    dataset = JsonLines(sorted(folder.iterdir()))
    return DataLoader(
        dataset, batch_size=batch_size, shuffle=True, num_workers=workers, collate_fn=list
    )


def open_files(folder: Path, batch_size: int, workers: int) -> Iterable[Any]:
    """Read lines as they come."""
    dataset = OpenFiles(sorted(folder.iterdir()))
    return DataLoader(dataset, batch_size=batch_size, num_workers=workers)
