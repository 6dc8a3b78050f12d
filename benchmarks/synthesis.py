"""CPU seconds of `python app.py`, against an app with one bucket.

    python -m benchmarks.synthesis [--runs 3]

CloudFormation's own validation is off in both (CDK_VALIDATION=false), as in the tests: it costs the
same per template whoever wrote it. Counted are the seconds of Python and of CDK's node process.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
ONE_BUCKET = """
from aws_cdk import App, Stack
from aws_cdk.aws_s3 import Bucket
app = App()
Bucket(Stack(app, "One"), "Bucket")
app.synth()
"""


def cpu_seconds(command: list[str], environment: str) -> float:
    """Run a program to its end; user and system time of it and of what it started."""
    before = _children()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            command,
            cwd=ROOT,
            env={
                **os.environ,
                "CDK_OUTDIR": folder,
                "CDK_VALIDATION": "false",
                "CDK_CONTEXT_JSON": f'{{"env": "{environment}"}}',
                "JSII_NODE": str(Path(sys.executable).parent / "node"),
            },
            check=True,
        )
    return _children() - before


def main() -> None:
    """Print medians and the difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each; medians are printed")
    runs = parser.parse_args().runs
    programs = {
        "one bucket": ([sys.executable, "-c", ONE_BUCKET], "dev"),
        "app.py, dev": ([sys.executable, "app.py"], "dev"),
        "app.py, prod": ([sys.executable, "app.py"], "prod"),
    }
    found: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(runs):  # interleaved: all see the same machine
        for name, (command, environment) in programs.items():
            found[name].append(cpu_seconds(command, environment))
    base = statistics.median(found["one bucket"])
    for name, seconds in found.items():
        median = statistics.median(seconds)
        print(f"{name:14}{median:7.2f} CPU-s {median - base:+7.2f}")


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
