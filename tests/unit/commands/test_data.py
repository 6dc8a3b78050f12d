import json
import subprocess
import sys
from pathlib import Path

import pytest

from evenshard.commands import data
from evenshard.dataset import Mail
from evenshard.errors import UsageError

COMMAND = [str(Path(sys.executable).parent / "evenshard"), "data"]


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_writes_the_dataset_and_reports_it_as_json(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = _run(str(tmp_path / "empty"), "--shards", "3", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["destination"] == str(tmp_path / "empty")
    for split, counts in document["splits"].items():
        files = sorted((tmp_path / "empty" / split).iterdir())
        assert len(files) == counts["objects"]
        assert sum(path.stat().st_size for path in files) == counts["bytes"]
        lines = [json.loads(line) for path in files for line in path.read_bytes().splitlines()]
        assert len(lines) == counts["records"]
        assert sum(line["label"] for line in lines) == counts["spam"]
        assert {frozenset(line) for line in lines} == {frozenset({"text", "label"})}


def test_a_folder_with_files_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("keep me")
    refused = _run(str(tmp_path))
    assert refused.returncode == 2
    assert "not empty" in refused.stderr
    assert "new or empty" in refused.stderr
    assert (tmp_path / "precious.txt").read_text() == "keep me"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("DEST", "--shards", "0"), "--shards 0 is not allowed. It takes a whole number, 1 or"),
        (("DEST", "--shards", "many"), "--shards many is not allowed"),
        (("DEST", "--skew", "-1"), "--skew -1 is not allowed. It takes a number, 0 to 4"),
        (("DEST", "--skew", "9"), "Give, say, --skew 1."),
        (("DEST", "--skew", "nan"), "--skew nan is not allowed"),
        (("DEST", "--seed", "-1"), "--seed -1 is not allowed"),
        (("DEST", "--shards", "6047"), "--shards 6047 for a corpus of 6046 mails"),
        (("DEST", "--colour", "red"), "--colour"),
        (("s3://bucket",), "DEST is 's3://bucket/', a whole bucket: it must name a folder in it"),
        (("https://host/data",), "it must be an S3 folder. Give it as s3://bucket/folder/"),
        ((), "Missing argument 'DEST'. `evenshard data --help` says what it takes."),
        (("",), "DEST is empty, an unset variable perhaps"),
    ],
)
def test_wrong_usage_exits_2_with_one_json_document(
    arguments: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    destination = tmp_path / "data"
    given = [str(destination) if argument == "DEST" else argument for argument in arguments]
    refused = _run(*given, "--json")
    assert refused.returncode == 2
    assert expected in json.loads(refused.stdout)["error"]
    assert not destination.exists()


def test_a_place_that_cannot_be_written_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "read_corpus", lambda: [Mail(text=str(n), label=0) for n in range(9)])
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"DEST .*file/data cannot be written: .*may write to"):
        data.data(str(tmp_path / "file" / "data"), shards=1)


def test_too_many_shards_are_refused_before_any_mail_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "read_corpus", lambda: pytest.fail("11 seconds for nothing"))
    with pytest.raises(UsageError, match="--shards 100000 for a corpus of 6046 mails"):
        data.data(str(tmp_path / "data"), shards=100_000)


@pytest.fixture
def few_mails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "read_corpus", lambda: [Mail(text=str(n), label=0) for n in range(9)])


@pytest.mark.usefixtures("few_mails")
def test_says_what_it_does_and_what_it_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    data.data(str(tmp_path / "data"), shards=1)
    assert capsys.readouterr().out.splitlines()[:3] == [
        "Reading 6,046 mails ...",
        f"Wrote {tmp_path / 'data'}/",
        "  split       objects  bytes  records  spam",
    ]
    data.data(str(tmp_path / "other"), shards=1, as_json=True)
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.usefixtures("few_mails")
def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("none")
    with pytest.raises(UsageError, match=r"link is no folder: nothing is overwritten"):
        data.data(str(tmp_path / "link"), shards=1)
    assert [file.name for file in tmp_path.iterdir()] == ["link"]


@pytest.mark.usefixtures("few_mails")
def test_a_reason_names_no_folder_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"/data cannot be written: File exists\. Name"):
        data.data(str(tmp_path / "file" / "data"), shards=1)
