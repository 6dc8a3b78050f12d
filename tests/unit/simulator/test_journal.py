import json
import threading
from pathlib import Path

from evenshard.simulator.events import Noted, RunStarted
from evenshard.simulator.journal import Journal, RunEnded


def test_what_is_written_is_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    assert list(journal.entries()) == []
    started = RunStarted(execution_id="a", pipeline="p", folder=tmp_path, parameters={"Seed": 1})
    ended = RunEnded(status="Failed", failure_reason="no data: «leer»")
    journal.add(started)
    journal.add(ended)
    first, second = journal.entries()
    assert (first.what, second.what) == (started, ended)
    assert first.time_s <= second.time_s


def test_a_line_on_its_way_is_not_read_yet(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.add(Noted(text="whole"))
    with journal.file.open("a") as file:
        file.write(json.dumps({"time_s": 1.0, "kind": "Noted"}))
    assert [entry.what for entry in journal.entries()] == [Noted(text="whole")]


def test_lines_of_several_writers_do_not_mix(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")

    def write(name: str) -> None:
        for number in range(200):
            journal.add(Noted(text=f"{name}{number} " + name * 2000))

    writers = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    texts = [entry.what.text for entry in journal.entries() if isinstance(entry.what, Noted)]
    for name in "abc":
        mine = [text for text in texts if text.startswith(name)]
        assert mine == [f"{name}{number} " + name * 2000 for number in range(200)]


def test_a_line_that_a_full_disk_has_cut_costs_no_others(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.add(Noted(text="before"))
    with journal.file.open("a") as file:
        file.write('{"time_s": 1.0, "kind": "No')
    journal.add(Noted(text="swallowed"))
    journal.add(Noted(text="after"))
    assert [entry.what for entry in journal.entries()] == [
        Noted(text="before"),
        Noted(text="after"),
    ]
