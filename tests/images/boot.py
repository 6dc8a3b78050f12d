"""Becomes an image's first process, as a container engine would have it: run by `unshare --pid`.

Its one argument is a JSON document: root, entrypoint, environment, directory, and mounts, of which
each is target -> source, options.
"""

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1


def raise_loopback() -> None:
    """A new network has a loopback that is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        fcntl.ioctl(channel, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def main(document: str) -> None:
    told = json.loads(document)
    root = told["root"]
    raise_loopback()
    mount("--make-rprivate", "/")
    mount("-t", "proc", "proc", f"{root}/proc")
    mount("--rbind", "/dev", f"{root}/dev")
    for target, (source, options) in told["mounts"].items():
        Path(f"{root}{target}").mkdir(parents=True, exist_ok=True)
        mount("-o", options, source, f"{root}{target}")
    os.chroot(root)
    os.chdir(told["directory"])
    command = told["entrypoint"]
    os.execve(command[0], command, told["environment"])  # noqa: S606 - that is what it is for


if __name__ == "__main__":
    main(sys.argv[1])
