"""docs/trainers.md says what the trainers have in common, as their sources have it.

EVENSHARD_UPDATE_DOCS=1 writes the tables anew: read the difference before you commit it.
"""

import dataclasses
import os

import pytest

from tests.docs.trainer_tables import BEGIN, END, PAGE, tables, used_hyperparameters
from training.contract.hyperparameters import TrainingHyperparameters, user_of
from training.contract.layout import FRAMEWORKS


def test_the_tables_are_those_of_the_sources() -> None:
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    written, end, after = rest.partition(END)
    assert begin
    assert end
    expected = f"\n\n{tables()}\n\n"
    if os.environ.get("EVENSHARD_UPDATE_DOCS"):
        PAGE.write_text(f"{before}{BEGIN}{expected}{END}{after}", encoding="utf-8")
        return
    assert written == expected, "run it with EVENSHARD_UPDATE_DOCS=1 and read the difference"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_trainer_uses_what_it_takes_and_takes_what_it_uses(framework: str) -> None:
    names = [field.name for field in dataclasses.fields(TrainingHyperparameters)]
    taken = {name for name in names if user_of(name) in (None, framework)}
    # Where they differ, mark the hyperparameter with `Only`, or use it in the other trainer, too.
    assert used_hyperparameters(framework) == taken
