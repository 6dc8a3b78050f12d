"""The tables of docs/trainers.md, read from the trainers' sources.

What a trainer uses is what its folder names: attributes of the hyperparameters, metrics, and the
names that the contract gives to files, channels and moments.
"""

import ast
import dataclasses
import inspect
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

from evenshard.repository import ROOT
from training.contract import breakpoints, layout, metrics
from training.contract.bounds import Form, Range
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.layout import FRAMEWORKS

PAGE: Final = ROOT / "docs" / "trainers.md"
BEGIN: Final = "<!-- begin: written by tests/docs/trainer_tables.py -->"
END: Final = "<!-- end -->"
LAUNCHER: Final = ("training/launch.py", "training/launcher/judgement.py")
"""What reads hyperparameters for all trainers."""
SHARED: Final = "training/trainer"
"""What trainers share, as far as they import it."""
_SETTINGS: Final = ("settings", "hyperparameters")
"""What the trainers call their hyperparameters, underscores aside."""
_PROPERTIES: Final = {"chosen_format": "data_format"}
"""Properties of the hyperparameters that stand for one."""
_NAMES: Final = {
    "Channels": ("TRAIN_CHANNEL", "VALIDATION_CHANNEL", "VOCABULARY_CHANNEL"),
    "Files": (
        "DATA_REPORT_FILE",
        "MODEL_CONFIG_FILE",
        "MODEL_WEIGHTS_FILE",
        "SAVED_MODEL_FOLDER",
        "KERAS_MODEL_FILE",
    ),
}


def tables() -> str:
    """Everything between the markers."""
    parts = (
        "## Hyperparameters",
        _table(("name", "allowed", "default", *FRAMEWORKS, "meaning"), _hyperparameters()),
        "## Metrics",
        _table(("key", "metric", *FRAMEWORKS), _metrics()),
        "## Behaviours",
        _table(("what", "", *FRAMEWORKS), _behaviours()),
    )
    return "\n\n".join(parts)


def used_hyperparameters(framework: str) -> set[str]:
    """The hyperparameters that a trainer reads."""
    names = {field.name for field in dataclasses.fields(TrainingHyperparameters)}
    read = {_PROPERTIES.get(name, name) for name in _attributes(framework)}
    return names & read


def _hyperparameters() -> Iterator[Sequence[str]]:
    hints = get_type_hints(TrainingHyperparameters, include_extras=True)
    used = {framework: used_hyperparameters(framework) for framework in FRAMEWORKS}
    meanings = _meanings()
    for field in dataclasses.fields(TrainingHyperparameters):
        yield (
            f"`{field.name}`",
            _allowed(hints[field.name]),
            f"`{field.default}`",
            *(_mark(field.name in used[framework]) for framework in FRAMEWORKS),
            meanings[field.name],
        )


def _meanings() -> dict[str, str]:
    """What stands below each hyperparameter in its source, on one line."""
    module = ast.parse(Path(inspect.getfile(TrainingHyperparameters)).read_text(encoding="utf-8"))
    name = TrainingHyperparameters.__name__
    (found,) = (n for n in module.body if isinstance(n, ast.ClassDef) and n.name == name)
    return {
        ast.unparse(field.target): " ".join(text.value.value.split())
        for field, text in pairwise(found.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _allowed(hint: Any) -> str:  # noqa: ANN401 - a type hint has no narrower type
    kind, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if get_origin(kind) is Literal:
        return " or ".join(f"`{value}`" for value in get_args(kind))
    forms = [str(extra) for extra in extras if isinstance(extra, Form)]
    limits = [str(extra) for extra in extras if isinstance(extra, Range)]
    return " ".join(forms or [kind.__name__, *limits])


def _metrics() -> Iterator[Sequence[str]]:
    for name, metric in vars(metrics).items():
        if isinstance(metric, metrics.Metric):
            marks = (_mark(name in _names(framework)) for framework in FRAMEWORKS)
            yield (f"`{metric.key}`", f"`{metric.name}`", *marks)


def _behaviours() -> Iterator[Sequence[str]]:
    for kind, names in _NAMES.items():
        for name in names:
            marks = (_mark(name in _names(framework)) for framework in FRAMEWORKS)
            yield (kind, f"`{getattr(layout, name)}`", *marks)
    for point in breakpoints.POINTS:
        marks = (_mark(point.upper() in _names(framework)) for framework in FRAMEWORKS)
        yield ("Faults simulated at", point, *marks)
    told = {framework: _told(framework) for framework in FRAMEWORKS}
    for error in sorted(set().union(*told.values())):
        marks = (_mark(error in told[framework]) for framework in FRAMEWORKS)
        yield ("Ends with a message of one line on", f"`{error}`", *marks)


def _told(framework: str) -> set[str]:
    """The errors whose message says what to do, if the trainer runs as they are told."""
    lists = (node for node in _nodes(framework) if isinstance(node, ast.AnnAssign))
    told = (one.value for one in lists if _last_name(one.target) == "TOLD_BY_MESSAGE")
    together = (errors.elts for errors in told if isinstance(errors, ast.Tuple))
    return {name.id for names in together for name in names if isinstance(name, ast.Name)}


def _attributes(framework: str) -> set[str]:
    """What is read of the hyperparameters, however a module calls them."""
    attributes = (node for node in _nodes(framework) if isinstance(node, ast.Attribute))
    return {node.attr for node in attributes if _last_name(node.value).strip("_") in _SETTINGS}


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _names(framework: str) -> set[str]:
    return {node.id for node in _nodes(framework) if isinstance(node, ast.Name)}


@cache
def _nodes(framework: str) -> tuple[ast.AST, ...]:
    return tuple(node for file in _files(framework) for node in ast.walk(_parsed(file)))


def _files(framework: str) -> Iterable[Path]:
    """The modules of a trainer, and those of the shared ones that it imports."""
    own = sorted((ROOT / "training" / framework).rglob("*.py"))
    imported = {
        node.module
        for file in own
        for node in ast.walk(_parsed(file))
        if isinstance(node, ast.ImportFrom) and node.module is not None
    }
    shared = sorted((ROOT / SHARED).rglob("*.py"))
    launcher = (ROOT / file for file in LAUNCHER)
    return [*own, *launcher, *(f for f in shared if f"training.trainer.{f.stem}" in imported)]


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _mark(used: bool) -> str:  # noqa: FBT001 - the only thing to say
    return "yes" if used else "–"  # noqa: RUF001 - a dash in a table


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
