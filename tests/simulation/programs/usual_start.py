"""The usual start, without a launcher: a process group of which nothing is known, then training.

Prints what came of it as JSON.
"""

import json
import os
from pathlib import Path

import torch
from torch import distributed, nn


def start_group() -> str:
    """Do what is said to work by itself; returns how it failed."""
    try:
        distributed.init_process_group("gloo")
    except ValueError as error:
        return str(error)
    return ""


lines = [
    line
    for file in sorted(Path(os.environ["SM_CHANNEL_TRAIN"]).iterdir())
    for line in file.read_text().splitlines()
]
error = start_group()
torch.manual_seed(0)
model = nn.Linear(1, 1)
first = model.weight.item()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for line in lines:
    optimizer.zero_grad()
    loss = (model(torch.tensor([1.0])) - float(line)).square().sum()
    loss.backward()
    optimizer.step()
report = {"error": error, "records": len(lines), "first": first, "last": model.weight.item()}
print(json.dumps(report))
