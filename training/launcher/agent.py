"""torchrun, with the exit codes of its failed ranks in a file instead of a traceback in the log.

Run by the launcher: `python -m training.launcher.agent SCRATCH_FOLDER <torchrun's arguments>`.
"""

import json
import logging
import sys
from pathlib import Path

from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.run import parse_args, run

from training.launcher.diagnosis import FAILURES_FILE

# These remark on every signal and every failed rank; the launcher reports both, once.
_REMARKING = (
    "torch.distributed.elastic.agent.server.api",
    "torch.distributed.elastic.multiprocessing.api",
)


def main(scratch: Path, arguments: list[str]) -> int:
    """Run torchrun's own code.

    Returns:
        0 when all ranks of this host ended well, 1 otherwise.
    """
    for name in _REMARKING:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    exit_codes: dict[int, int] = {}
    error: str | None = None
    try:
        # torch.distributed.run carries no annotations.
        run(parse_args(arguments))  # type: ignore[no-untyped-call]
    except ChildFailedError as failed:
        exit_codes = {each.local_rank: each.exitcode for each in failed.failures.values()}
    except SignalException as stopped:
        error = f"stopped by {stopped.sigval.name}"
    except Exception as failed:  # noqa: BLE001 (torchrun itself failed: whatever it was is the cause)
        error = f"{type(failed).__name__}: {failed}"
    else:
        return 0
    report = {"exit_codes": exit_codes, "error": error}
    (scratch / FAILURES_FILE).write_text(json.dumps(report), encoding="utf-8")
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
