import tarfile
from pathlib import Path

from evenshard.simulator.cluster.artifacts import merge, pack


def write(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def test_files_of_all_hosts_come_together(tmp_path: Path) -> None:
    one = write(tmp_path / "1", **{"weights": "w", "sub/config": "c"})
    two = write(tmp_path / "2", **{"sub/other": "o"})
    merged = merge({"algo-1": one, "algo-2": two, "algo-3": tmp_path / "missing"})
    assert sorted(merged.files) == ["sub/config", "sub/other", "weights"]
    assert merged.clashes == {}


def test_equal_names_are_clashes_even_with_equal_content(tmp_path: Path) -> None:
    hosts = {f"algo-{n}": write(tmp_path / str(n), weights="w") for n in (1, 2, 3)}
    write(tmp_path / "1", own="x")
    assert merge(hosts).clashes == {"weights": ["algo-1", "algo-2", "algo-3"]}


def test_archives_of_equal_files_are_equal(tmp_path: Path) -> None:
    for number in (1, 2):
        files = {name: write(tmp_path / str(number), **{name: name}) / name for name in "ba"}
        pack(files, tmp_path / f"{number}.tar.gz")
    assert (tmp_path / "1.tar.gz").read_bytes() == (tmp_path / "2.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "1.tar.gz") as archive:
        assert archive.getnames() == ["a", "b"]
        content = archive.extractfile("b")
        assert content is not None
        assert content.read() == b"b"
