"""Choices of the settings, and few combinations in which every two of them meet."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from infra.settings import Settings
from tests.synth.variants import IMPORTED_NETWORK, NEW_NETWORK, NO_NETWORK, settings_with
from training.contract.layout import FRAMEWORKS


def pairwise(factors: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Choose combinations greedily: each next one has the most pairs that have not met yet.

    Args:
        factors: name -> values.

    Returns:
        Combinations, factor -> value; the same for equal factors.
    """
    everything = [
        dict(zip(factors, values, strict=True)) for values in itertools.product(*factors.values())
    ]
    left = {pair for combination in everything for pair in _pairs(combination)}
    chosen: list[dict[str, str]] = []
    while left:
        best = max(everything, key=lambda one: len(left & _pairs(one)))
        chosen.append(best)
        left -= _pairs(best)
    return chosen


def _pairs(combination: Mapping[str, str]) -> set[tuple[tuple[str, str], tuple[str, str]]]:
    return set(itertools.combinations(combination.items(), 2))


CHOICES: dict[str, dict[str, dict[str, Any]]] = {
    "network": {
        "none": {"network": NO_NETWORK},
        "new": {"network": NEW_NETWORK},
        "imported": {"network": IMPORTED_NETWORK},
    },
    "capacity": {
        "on-demand": {"training.capacity": {"kind": "on-demand", "max_pending_s": 3_600}},
        "spot": {"training.capacity": {"kind": "spot", "max_wait_s": 172_800}},
        "warm-pool": {
            "training.capacity": {
                "kind": "warm-pool",
                "keep_alive_s": 600,
                "max_pending_s": 7_200,
            }
        },
    },
    "input": {mode: {"training.input_mode": mode} for mode in ("File", "FastFile")},
    "frameworks": {
        "both": {"frameworks": FRAMEWORKS},
        **{framework: {"frameworks": (framework,)} for framework in FRAMEWORKS},
    },
    "start": {
        "by hand": {},
        "by the clock": {"triggers.schedule": "rate(7 days)"},
    },
}
"""Factor -> its values -> the settings that they stand for."""
COMBINATIONS = pairwise({factor: list(values) for factor, values in CHOICES.items()})


def combined(combination: Mapping[str, str]) -> Settings:
    changes: dict[str, Any] = {}
    for factor, value in combination.items():
        changes |= CHOICES[factor][value]
    if combination["start"] == "by the clock":
        changes["triggers.on_schedule"] = changes["frameworks"]
    return settings_with(changes)


def name_of(combination: Mapping[str, str]) -> str:
    return ", ".join(combination.values())
