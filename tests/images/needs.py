"""What building and running images takes, and the word to say where it is missing."""

import os
import shutil
import subprocess
import sys

import pytest

REQUIRED = "EVENSHARD_REQUIRE_IMAGES"
"""With 1, tests of images fail where they would be skipped."""
NAMESPACES = ("--pid", "--fork", "--kill-child", "--mount", "--net", "--uts")
"""What an image is started in: `unshare` takes these."""


def missing() -> str | None:
    """What this machine lacks; None where nothing does."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a root file system is laid out and entered: that takes root on Linux"
    if lacking := [name for name in ("buildah", "unshare", "ldd") if not shutil.which(name)]:
        return f"{', '.join(lacking)} not found: apt-get install buildah"
    tried = subprocess.run(
        ["unshare", *NAMESPACES, "true"], capture_output=True, text=True, check=False
    )
    if tried.returncode != 0:
        return f"new namespaces are refused here: {tried.stderr.strip()}"
    return None


def need_images() -> None:
    """Skip the test where images cannot be built; fail it where they must be."""
    why = missing()
    if why is None:
        return
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(f"{REQUIRED} is 1, but {why}", pytrace=False)
    pytest.skip(why)
