"""Measures the trainer's loop: `python -m benchmarks.training_loop`, about three minutes.

The loops take turns in the same processes, so that what else the machine does meets all alike.
"""

from statistics import median
from typing import Final

from benchmarks.records.ranks import run_ranks
from benchmarks.training_loop.measuring import BATCH_SIZE, STEPS, Measured, measure
from training.contract.hyperparameters import TrainingHyperparameters

RANKS: Final = (1, 2, 4)
OVERHEAD_RANKS: Final = 2
TASKS: Final = {
    "text, bag": TrainingHyperparameters(batch_size=BATCH_SIZE),
    "text, transformer": TrainingHyperparameters(
        batch_size=BATCH_SIZE, architecture="transformer", max_words=32
    ),
    "image": TrainingHyperparameters(batch_size=BATCH_SIZE, task="image", hidden_dim=8),
}


def overhead(seconds: dict[str, list[float]], loop: str) -> float:
    """How much longer a loop takes than the bare one: the median of the rounds' ratios."""
    pairs = zip(seconds[loop], seconds["bare"], strict=True)
    return median(taken / bare for taken, bare in pairs) - 1


def main() -> None:
    """Measure and print both tables."""
    found = {
        (task, ranks): run_ranks(measure, Measured(settings=settings, ranks=ranks), ranks)
        for task, settings in TASKS.items()
        for ranks in RANKS
    }
    print("| task | bare step | our loop on tensors | with the data layer |")
    print("|---|---|---|---|")
    for task in TASKS:
        seconds = found[task, OVERHEAD_RANKS]
        print(
            f"| {task} | {median(seconds['bare']) / STEPS * 1000:.1f} ms "
            f"| {overhead(seconds, 'in_memory'):+.1%} | {overhead(seconds, 'whole'):+.1%} |"
        )
    print()
    print(f"| task | {' | '.join(f'{ranks} ranks' for ranks in RANKS)} |")
    print(f"|---{'|---' * len(RANKS)}|")
    for task in TASKS:
        paces = [
            STEPS * BATCH_SIZE * ranks / median(found[task, ranks]["whole"]) for ranks in RANKS
        ]
        cells = [f"{pace:,.0f} ({pace / paces[0]:.2f} x)" for pace in paces]
        print(f"| {task} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
