"""A batch: the records of one rank and one step, and where each came from."""

from collections.abc import Sequence
from typing import Any

from training.records.json_lines import parse
from training.records.reading import locate
from training.records.windows import Line


class Batch:
    """Records of one rank and one step; never empty.

    Attributes:
        records: The parsed JSON objects, `batch_size` of them or, in a part's last batch, fewer.
    """

    __slots__ = ("_lines", "records")

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self.records: list[dict[str, Any]] = [parse(line) for line in lines]

    def __len__(self) -> int:
        return len(self.records)

    def locate(self, index: int) -> str:
        """Say where record `index` came from: "part-00003.jsonl, line 17".

        Reads the shard up to there, so it is for messages only.
        """
        line = self._lines[index]
        return locate(line.shard, line.offset_bytes)
