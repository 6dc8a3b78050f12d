"""A user's program whose ranks all write the model under one name."""

import os
from pathlib import Path

if os.environ["LOCAL_RANK"] == "0":
    Path(os.environ["SM_MODEL_DIR"], "weights.bin").write_text(os.environ["SM_CURRENT_HOST"])
