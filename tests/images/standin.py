"""A base image to build upon where none can be pulled: this machine's own Python and shell.

It is what the real bases are where it matters: python3 and pip of /opt/venv first on PATH, an
entry point that ends in `exec "$@"`, and of the Python packages those that they bring. It has no
torch and no TensorFlow: they would be put in by hand at `PACKAGES`, while a program runs.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from evenshard.images.brought import BROUGHT
from tests.images.store import Store
from training.contract.layout import ENTRYPOINT_WRAPPER

PACKAGES = "/opt/base-packages"
"""Where Python looks after the image's own packages; empty in the image."""
WORKING_DIRECTORIES: Mapping[str, str] = {"pytorch": "/workspace", "tensorflow": "/"}
"""Those of the real bases."""

_PROGRAMS = ("sh", "bash", "env", "test", "cat", "uname", "id")
_LIBRARIES = (
    "libdl.so.2",
    "libgcc_s.so.1",
    "libgomp.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libstdc++.so.6",
    "libutil.so.1",
)
"""What wheels take for granted."""
_FILES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/nsswitch.conf", "/etc/passwd", "/etc/group")
_FOLDERS = ("dev", "proc", "sys", "tmp", "opt/ml", "workspace", "usr/local/bin", PACKAGES[1:])
_LEFT_OUT = ("site-packages", "test", "tests", "idlelib", "tkinter", "__pycache__", "config-*")


def tag(framework: str) -> str:
    """What the stand-in of a framework's base is called."""
    return f"localhost/evenshard-standin:{framework}"


def make_standins(store: Store) -> None:
    """Put a stand-in for every framework's base into the store."""
    container = store.buildah("from", "scratch")
    _lay_system(Path(store.buildah("mount", container)))
    path = "/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    store.buildah("config", f"--env=PATH={path}", container)
    store.buildah("umount", container)
    store.buildah("commit", "--quiet", "--rm", container, tag("system"))
    for framework, directory in WORKING_DIRECTORIES.items():
        container = store.buildah("from", "--pull-never", tag("system"))
        _lay_packages(Path(store.buildah("mount", container)), BROUGHT[framework])
        store.buildah("config", f"--workingdir={directory}", container)
        store.buildah("umount", container)
        store.buildah("commit", "--quiet", "--rm", container, tag(framework))


def _lay_system(root: Path) -> None:
    for folder in _FOLDERS:
        (root / folder).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    (root / "etc").mkdir()
    # A build has its own in their place; without them it would leave empty ones.
    for name in ("hostname", "hosts", "resolv.conf"):
        (root / "etc" / name).touch()
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    programs = [Path(found) for name in _PROGRAMS if (found := shutil.which(name))]
    python = Path(sys.base_prefix)
    _lay_python(root, python)
    modules = sorted(Path(sysconfig.get_path("stdlib")).glob("lib-dynload/*.so"))
    executable = Path(sys.executable).resolve()
    needed = _libraries([*programs, executable, *modules])
    for file in {*programs, *needed, *map(Path, _FILES)}:
        _lay_file(root, file)
    wrapper = root / ENTRYPOINT_WRAPPER[1:]
    wrapper.write_text('#!/usr/bin/env bash\nexec "$@"\n')
    wrapper.chmod(0o755)
    _make_environment(root, executable)


def _lay_python(root: Path, python: Path) -> None:
    """The interpreter where it lies here: it finds its library by that path."""
    library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(
        library,
        root / str(library)[1:],
        ignore=shutil.ignore_patterns(*_LEFT_OUT),
        symlinks=True,
    )
    executable = Path(sys.executable).resolve()
    _lay_file(root, executable)
    shared = sysconfig.get_config_var("INSTSONAME")
    for folder in (python / "lib", Path(sysconfig.get_config_var("LIBDIR"))):
        if shared and (folder / shared).exists():
            _lay_file(root, folder / shared)


def _make_environment(root: Path, executable: Path) -> None:
    """A virtual environment with pip, made in there."""
    _in_root(root, str(executable), "-m", "venv", "--without-pip", "/opt/venv")
    packages = root / _site_packages()
    _lay_packages(root, ("pip",))
    (packages / "base-packages.pth").write_text(f"{PACKAGES}\n")


def _site_packages() -> str:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return f"opt/venv/lib/{version}/site-packages"


def _lay_packages(root: Path, names: Iterable[str]) -> None:
    """Copy distributions of this environment."""
    target = root / _site_packages()
    for name in names:
        distribution = importlib.metadata.distribution(name)
        for file in distribution.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), target / file)


def _lay_file(root: Path, file: Path) -> None:
    """Copy a file to where it lies here; what a link leads to stands under the link's name."""
    target = root / str(file)[1:]
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy(file, target)


def _libraries(files: Iterable[Path]) -> set[Path]:
    """The shared libraries of programs, their loader, and those in `_LIBRARIES`."""
    cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True)
    named = [
        Path(line.rpartition("=> ")[2])
        for line in cache.stdout.splitlines()
        if line.split()[:1] and line.split()[0] in _LIBRARIES and "x86-64" in line
    ]
    return {*named, *_linked([*files, *named])}


def _linked(files: Iterable[Path]) -> Iterator[Path]:
    listed = subprocess.run(
        ["ldd", *map(str, files)], capture_output=True, text=True, check=False, env=os.environ
    )
    for path in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", listed.stdout, flags=re.MULTILINE):
        yield Path(path)


def _in_root(root: Path, *command: str) -> None:
    subprocess.run(
        ["chroot", str(root), *command],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        check=True,
        capture_output=True,
        timeout=60,
    )
