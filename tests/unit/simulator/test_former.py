"""--resume RUN: what is taken for a run, and what is said of the rest."""

from pathlib import Path

import pytest

from evenshard.errors import UsageError
from evenshard.simulator.former import find_former
from evenshard.simulator.result import Result
from evenshard.simulator.run_folder import RESULT_FILE


def left(runs: Path, execution_id: str) -> Result:
    folder = runs / execution_id
    folder.mkdir(parents=True)
    result = Result(execution_id=execution_id, pipeline="p", folder=folder)
    result.parameters = {"Epochs": 3, "AllowEmptyHosts": True}
    result.write()
    return result


@pytest.mark.parametrize("given", ["abc", "{runs}/abc", "{runs}/abc/"])
def test_a_run_is_named_by_its_id_or_by_its_folder(tmp_path: Path, given: str) -> None:
    left(tmp_path, "abc")
    former = find_former(tmp_path, given.format(runs=tmp_path))
    assert former.execution_id == "abc"
    assert former.given_parameters() == {"Epochs": "3", "AllowEmptyHosts": "true"}


@pytest.mark.parametrize("given", ["none", "", "..", "/", "abc/none"])
def test_what_is_no_run_is_refused_with_the_last_ones(tmp_path: Path, given: str) -> None:
    for name in ("a1", "a2", "a3", "a4"):
        left(tmp_path / "runs", name)
    with pytest.raises(
        UsageError, match=r"Give the execution id of one\. The last ones are a2, a3,"
    ):
        find_former(tmp_path / "runs", given)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "3",
        "{}",
        '{"execution_id": 3, "parameters": {}}',
        '{"execution_id": "abc", "parameters": 4}',
        '{"execution_id": "abc", "parameters": [1]}',
    ],
)
def test_a_broken_result_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "abc").mkdir()
    (tmp_path / "abc" / RESULT_FILE).write_text(content)
    with pytest.raises(UsageError, match=r"--resume abc has .*result\.json that"):
        find_former(tmp_path, "abc")


def test_a_run_that_left_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "abc").mkdir()
    with pytest.raises(UsageError, match=r"has no result\.json .*There is none yet\."):
        find_former(tmp_path, "abc")
