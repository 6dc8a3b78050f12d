"""One worker: runs a module or a script, and leaves its exception where the launcher finds it.

Run by `workers`: `python -m training.launcher.worker (--module NAME | SCRIPT) ARGUMENTS...`.
"""

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from training.launcher.exceptions import recorded

MODULE: Final = "--module"


@recorded
def main(command: Sequence[str]) -> None:
    """Run what a rank is to run, as the main program.

    Args:
        command: as `rank_command` gives it.
    """
    if command[0] == MODULE:
        sys.argv = list(command[1:])
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = list(command)
    # Behind the libraries: a script in `training` would find `training/tensorflow` otherwise.
    sys.path.append(str(Path(command[0]).parent))
    runpy.run_path(command[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
