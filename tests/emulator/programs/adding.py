"""All hosts add up the numbers of their shards: a training that needs no framework.

Rank 0 listens where TF_CONFIG says and asks the others, again and again until a file is there.
Ranks of another job would be found out by its name.
"""

import argparse
import json
import os
import socket
import time
from contextlib import ExitStack
from pathlib import Path

PATIENCE_S = 30.0


def own_number() -> int:
    """What the shards of this host add up to; its first rank speaks for it."""
    if os.environ["LOCAL_RANK"] != "0":
        return 0
    shards = Path(os.environ["SM_CHANNEL_TRAIN"]).rglob("*.txt")
    return sum(int(line) for shard in shards for line in shard.read_text().split())


def lead(address: tuple[str, int], others: int, number: int, factor: int, until: Path) -> None:
    """Ask everybody at every step, print what comes out, and write the model."""
    job = os.environ["TRAINING_JOB_NAME"]
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(address))
        listening.settimeout(PATIENCE_S)
        connections = [
            stack.enter_context(listening.accept()[0].makefile("rw")) for _ in range(others)
        ]
        step, over = 0, False
        while not over:
            over, total = until.exists(), number
            for connection in connections:
                connection.write(f"{step}\n")
                connection.flush()
                name, _, told = connection.readline().partition(" ")
                assert name == job, f"{name} speaks to {job}"
                total += int(told)
            print(f"step={step} total={total * factor}", flush=True)
            step += 1
            time.sleep(0.05)
    model = {"job": job, "total": total * factor}
    (Path(os.environ["SM_MODEL_DIR"]) / "model.json").write_text(json.dumps(model))


def follow(address: tuple[str, int], number: int) -> None:
    """Answer until nobody asks."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            connection = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            assert time.monotonic() < deadline_s, f"nobody listens at {address}"
            time.sleep(0.05)
    with connection, connection.makefile("rw") as questions:
        for _ in questions:
            questions.write(f"{os.environ['TRAINING_JOB_NAME']} {number}\n")
            questions.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--factor", type=int, required=True)
    parser.add_argument("--until", type=Path, required=True)
    given = parser.parse_args()
    config = json.loads(os.environ["TF_CONFIG"])
    workers = config["cluster"]["worker"]
    host, _, port = workers[0].rpartition(":")
    if config["task"]["index"] == 0:
        lead((host, int(port)), len(workers) - 1, own_number(), given.factor, given.until)
    else:
        follow((host, int(port)), own_number())


main()
