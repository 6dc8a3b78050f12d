"""How a job reads its records: the same on every rank."""

from dataclasses import dataclass

from training.records.formats.protocol import OUTPUTS, FormatSettings

LARGEST_INTEGER = 2**63 - 1
"""Seeds and epochs travel between ranks as signed 64-bit integers."""

UNEVEN = ("weight", "drop")
"""What the ranks do when they hold unequal numbers of records, see LoaderSettings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderSettings:
    """How records are read, ordered and batched; the same on every rank of a job."""

    batch_size: int
    """Records of one rank in one step, 1 or more."""

    seed: int
    """Of the order, 0 to 2**63 - 1."""

    shuffle: bool = True
    """False: the order of the data, every epoch alike."""

    block_bytes: int = 128 << 10
    """Bytes of a block, 1 or more: the unit that is read and moved by the shuffle. Larger ones suit
    storage where each read takes long (FastFile: 1 MiB and fewer blocks per window)."""

    window_blocks: int = 128
    """Blocks held in memory and fully shuffled at once, 1 or more."""

    format: str | None = None
    """Of the shards, by name; None: by the ending of their names."""

    output: str | None = None
    """What batches hold: "str", "bytes", "packed", "arrow" or "records"; None: the format's own."""

    count: bool = True
    """Whether to count all records beforehand, which reads lines once more (about 0.5 s per GB).
    False: the ranks vote on the steps to take, every few steps."""

    uneven: str = "weight"
    """"weight": every rank steps until no rank has records left, each record counts alike. "drop":
    all ranks stop as soon as one has no full batch left."""

    errors: str = "strict"
    """Lines: "strict" refuses bytes that are not UTF-8, "replace" reads them as U+FFFD."""

    columns: tuple[str, ...] | None = None
    """Parquet and CSV: what to read of each record; None: everything."""

    quoted_newlines: bool = False
    """CSV: quoted fields may contain newlines. Every shard is then read once beforehand."""

    prefetch: bool = True
    """Whether to read ahead, in background threads."""

    def __post_init__(self) -> None:
        for name in ("batch_size", "block_bytes", "window_blocks"):
            value = getattr(self, name)
            if value < 1:
                raise ValueError(f"{name}={value}: set it to 1 or more.")
        if not 0 <= self.seed <= LARGEST_INTEGER:
            raise ValueError(f"seed={self.seed}: set it to 0 or more, at most {LARGEST_INTEGER}.")
        if self.output is not None and self.output not in OUTPUTS:
            raise ValueError(f"output={self.output!r}: set it to one of {', '.join(OUTPUTS)}.")
        if self.uneven not in UNEVEN:
            raise ValueError(f"uneven={self.uneven!r}: set it to one of {', '.join(UNEVEN)}.")
        self.for_format()

    def for_format(self) -> FormatSettings:
        """Return what concerns the format alone."""
        return FormatSettings(
            block_bytes=self.block_bytes,
            errors=self.errors,
            columns=self.columns,
            quoted_newlines=self.quoted_newlines,
        )
