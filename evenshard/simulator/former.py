"""An earlier run, whose checkpoints a new execution goes on from: --resume RUN."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenshard.errors import UsageError
from evenshard.simulator.result import Status
from evenshard.simulator.run_folder import RESULT_FILE
from evenshard.simulator.storage.objects import LocalObjectStore, ObjectStore, join_uri, split_uri


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerRun:
    """What is left of it."""

    execution_id: str
    folder: Path
    parameters: Mapping[str, Any]
    """As they were settled then."""
    succeeded: bool = False
    """It came to its end, so that its checkpoints leave nothing to do."""

    def given_parameters(self) -> dict[str, str]:
        """Its parameters as the command line would give them."""
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in self.parameters.items()
        }

    def copy_checkpoints(self, uri: str, execution_id: str, store: ObjectStore) -> int:
        """Copy its checkpoints to where an execution of another name looks for its own.

        Args:
            uri: the new execution's checkpoint prefix; it holds that one's id.
            execution_id: of the new one.
            store: of the new one.

        Returns:
            How many objects there are.
        """
        old_uri = uri.replace(execution_id, self.execution_id)
        old_store = LocalObjectStore(self.folder / "objects", {})
        bucket, prefix = split_uri(old_uri)
        objects = old_store.list(old_uri)
        for stored in objects:
            file = old_store.local_file(f"s3://{bucket}/{stored.key}")
            assert file is not None  # noqa: S101 - it was listed in a local store
            store.upload(file, join_uri(uri, stored.key.removeprefix(prefix).lstrip("/")))
        return len(objects)


def find_former(runs: Path, given: str) -> FormerRun:
    """Find a run by its execution id, or by the path of its folder.

    Args:
        runs: the folder of runs.
        given: `hp0ab...`, or a path, as a shell completes it.

    Raises:
        UsageError: there is none, or what it left cannot be read.
    """
    folder = Path(given) if "/" in given else runs / given
    file = folder / RESULT_FILE
    if not given or not folder.is_dir():
        raise _refusal(runs, given, f"is no run below {runs}/")
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _refusal(runs, given, f"has no {RESULT_FILE} that can be read ({error})") from error
    match document:
        case {"execution_id": str(execution_id), "parameters": dict(parameters)}:
            return FormerRun(
                execution_id=execution_id,
                folder=folder,
                parameters=parameters,
                succeeded=document.get("status") == Status.SUCCEEDED,
            )
    raise _refusal(runs, given, f"has a {RESULT_FILE} that is none of a run")


def _refusal(runs: Path, given: str, reason: str) -> UsageError:
    there = sorted(file.parent.name for file in runs.glob(f"*/{RESULT_FILE}"))[-3:]
    known = f"The last ones are {', '.join(there)}." if there else "There is none yet."
    return UsageError(f"--resume {given} {reason}. Give the execution id of one. {known}")
