"""Says that it runs, writes half a model and waits to be ended; `kill=<rank>` kills that rank."""

import os
import signal
import time
from pathlib import Path

rank = os.environ["RANK"]
(Path(os.environ["SM_MODEL_DIR"]) / f"process-{rank}").write_text(str(os.getpid()))
parent = Path(os.environ["SM_MODEL_DIR"]) / "parent"
parent.write_text(str(os.getppid()))
print(f"rank {rank} waits", flush=True)
if os.environ.get("SM_HP_KILL") == rank:
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(600)
