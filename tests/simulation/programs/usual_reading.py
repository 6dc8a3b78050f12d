"""The usual two ways to read the host's directory on every rank, with what each rank gets."""

import json
import os
from pathlib import Path
from typing import Any

from torch import distributed
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class LinesOfAllFiles(Dataset[str]):
    """Every line of every file of a directory."""

    def __init__(self, directory: Path) -> None:
        self.lines = [
            line for file in directory.iterdir() for line in file.read_text().splitlines()
        ]

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> str:
        return self.lines[index]


def read(dataset: LinesOfAllFiles, **how: Any) -> list[str]:  # noqa: ANN401 - of DataLoader
    return [line for batch in DataLoader(dataset, batch_size=4, **how) for line in batch]


distributed.init_process_group("gloo")
rank = distributed.get_rank()
data = LinesOfAllFiles(Path(os.environ["SM_CHANNEL_TRAIN"]))
report = {
    "without_sampler": read(data, shuffle=True),
    "with_sampler": read(data, sampler=DistributedSampler(data)),
}
(Path(os.environ["SM_OUTPUT_DATA_DIR"]) / f"read-by-{rank}.json").write_text(json.dumps(report))
if rank == 0:
    (Path(os.environ["SM_MODEL_DIR"]) / "model").touch()
distributed.destroy_process_group()
