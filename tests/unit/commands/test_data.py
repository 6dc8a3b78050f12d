import json
import subprocess
import sys
from pathlib import Path

import pytest

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
        (("DEST", "--shards", "0"), "--shards"),
        (("DEST", "--shards", "many"), "--shards"),
        (("DEST", "--skew", "-1"), "--skew"),
        (("DEST", "--skew", "nan"), "--skew"),
        (("DEST", "--shards", "999999"), "--shards 999999"),
        (("DEST", "--colour", "red"), "--colour"),
        (("s3://bucket/data/",), "aws s3 cp"),
        ((), "DEST"),
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
