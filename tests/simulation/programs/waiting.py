"""Says that it runs, writes half a model and waits to be ended; `kill=<rank>` kills that rank."""

import os
import signal
import time
from pathlib import Path

FOLDER = Path(os.environ["SM_MODEL_DIR"])
rank = os.environ["RANK"]


def leave(name: str, content: int) -> None:
    """Write a file at once: who finds it finds all of it."""
    draft = FOLDER / f"{name}.draft-of-{rank}"
    draft.write_text(str(content))
    draft.replace(FOLDER / name)


leave("parent", os.getppid())
leave(f"process-{rank}", os.getpid())
print(f"rank {rank} waits", flush=True)
if os.environ.get("SM_HP_KILL") == rank:
    # Those that have not come so far would be ended before they have said that they run.
    while len(list(FOLDER.glob("process-?"))) < int(os.environ["LOCAL_WORLD_SIZE"]):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(600)
