"""A run as a picture: records per second of each loader, format by format."""

import math
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.ticker import NullFormatter

from benchmarks.records.contenders import CONTENDERS, RAW, Contender
from benchmarks.records.goals import RATE
from benchmarks.records.results import Results

mpl.use("Agg")

TITLES: Final = {
    "lines": "lines",
    "json_lines": "JSON Lines",
    "parquet": "Parquet",
    "tar": "tar, samples of 2 kB",
}
BATCH_SIZE: Final = 1024
OURS, SHUFFLED, UNSHUFFLED = "#c1440e", "#4a6fa5", "#b8c4d6"
Bar = tuple[str, float, str]
"""Label, records per second, colour."""


def draw(results: Results, path: Path) -> None:
    """Draw what was measured with batches of 1024 into a PNG file, unless there is nothing."""
    bars = {kind: _bars(results, kind) for kind in TITLES}
    shown = {kind: of_kind for kind, of_kind in bars.items() if of_kind}
    if not shown:
        return
    figure, axes = plt.subplots(
        len(shown),
        1,
        figsize=(9, 1.2 + 0.33 * sum(len(of_kind) + 2 for of_kind in shown.values())),
        height_ratios=[len(of_kind) + 1 for of_kind in shown.values()],
        squeeze=False,
        layout="constrained",
    )
    for axis, (kind, of_kind) in zip(axes[:, 0], shown.items(), strict=True):
        labels, rates, colours = zip(*of_kind, strict=True)
        drawn = axis.barh(labels, rates, color=colours)
        axis.bar_label(drawn, [f"{rate / 1000:,.0f}k" for rate in rates], padding=3, fontsize=8)
        axis.set_xscale("log")
        # A logarithmic bar has no natural beginning: a round one, below the shortest bar.
        axis.set_xlim(10 ** math.floor(math.log10(min(rates) / 2)), max(rates) * 3)
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.invert_yaxis()
        axis.set_title(TITLES[kind], loc="left", fontsize=10)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(
        f"records per second, batches of {BATCH_SIZE}, logarithmic\n"
        "red: evenshard; blue: shuffled; grey: in the order of the data",
        fontsize=10,
    )
    figure.savefig(path, dpi=120)


def _bars(results: Results, kind: str) -> list[Bar]:
    bars = []
    for contender in CONTENDERS:
        if contender.kind != kind:
            continue
        for workers in contender.workers:
            rate = results.of("rate", contender, RATE, batch_size=BATCH_SIZE, workers=workers)
            if rate:
                label = contender.name + (f", {workers} workers" if workers else "")
                bars.append((label, rate.median, _colour(contender)))
    return sorted(bars, key=lambda bar: -bar[1])


def _colour(contender: Contender) -> str:
    if contender.name.startswith("evenshard"):
        return OURS
    return UNSHUFFLED if contender.order == "no" or contender is RAW else SHUFFLED
