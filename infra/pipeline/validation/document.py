"""A rendered definition as steps and parameters, read without trusting its shape."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self, TypeVar

Branch = tuple[tuple[str, str], ...]
"""The conditions a step lies in, outermost first: ((condition, "IfSteps" or "ElseSteps"), ...)."""

CONDITION: Final = "Condition"
FAIL: Final = "Fail"
LAMBDA: Final = "Lambda"
CALLBACK: Final = "Callback"
TRAINING: Final = "Training"
PROCESSING: Final = "Processing"
BRANCH_KEYS: Final = ("IfSteps", "ElseSteps")


def as_mapping(value: object) -> Mapping[str, object]:
    """The value where it is an object, else an empty one: its type is judged elsewhere."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """The value where it is a list, else an empty one: its type is judged elsewhere."""
    return value if isinstance(value, list) else []


def inside(value: object, *keys: str) -> object:
    """The value below these keys, None where one of them is missing."""
    for key in keys:
        value = as_mapping(value).get(key)
    return value


def has_token(value: object) -> bool:
    """Whether a string holds a CDK token, whose text only CloudFormation knows."""
    return isinstance(value, str) and ("${Token[" in value or "#{Token[" in value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One entry of `Parameters`."""

    name: str
    """Empty where it is missing or no string."""
    kind: str
    """String, Integer, Float or Boolean; empty where it is missing or no string."""
    path: str
    raw: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step, wherever it lies."""

    name: str
    """Empty where it is missing or no string."""
    kind: str
    """The definition's `Type`; empty where it is missing or no string."""
    path: str
    raw: Mapping[str, object]
    branch: Branch = ()

    @property
    def arguments(self) -> Mapping[str, object]:
        """`Arguments`, empty where they are no object."""
        return as_mapping(self.raw.get("Arguments"))

    @property
    def arguments_path(self) -> str:
        """The path of `Arguments`."""
        return f"{self.path}.Arguments"

    @property
    def depends_on(self) -> list[str]:
        """The step names in `DependsOn`."""
        return [name for name in as_list(self.raw.get("DependsOn")) if isinstance(name, str)]

    def argument(self, *keys: str) -> object:
        """The value below these keys of `Arguments`, None where one is missing."""
        return inside(self.arguments, *keys)

    def items(self, *keys: str) -> Iterator[tuple[str, Mapping[str, object]]]:
        """The objects of a list below these keys of `Arguments`, each with its path."""
        path = ".".join([self.arguments_path, *keys])
        for index, item in enumerate(as_list(self.argument(*keys))):
            if isinstance(item, dict):
                yield f"{path}[{index}]", item


Named = TypeVar("Named", Parameter, Step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A definition with every step found, those of branches included."""

    raw: Mapping[str, object]
    parameters: tuple[Parameter, ...]
    steps: tuple[Step, ...]
    parameter_by_name: Mapping[str, Parameter] = field(default_factory=dict)
    step_by_name: Mapping[str, Step] = field(default_factory=dict)

    @classmethod
    def read(cls, raw: Mapping[str, object]) -> Self:
        """Find parameters and steps; what is malformed is left for the judges to name."""
        parameters = tuple(_parameters(raw.get("Parameters")))
        steps = tuple(_steps(raw.get("Steps"), "Steps", (), set()))
        return cls(
            raw=raw,
            parameters=parameters,
            steps=steps,
            parameter_by_name=_first_by_name(parameters),
            step_by_name=_first_by_name(steps),
        )

    def of_kind(self, *kinds: str) -> Iterator[Step]:
        """The steps of these types, in the order of the definition."""
        return (step for step in self.steps if step.kind in kinds)


def _first_by_name(items: tuple[Named, ...]) -> dict[str, Named]:
    """In the order of the definition; of duplicates the first."""
    found: dict[str, Named] = {}
    for item in items:
        if item.name:
            found.setdefault(item.name, item)
    return found


def _parameters(raw: object) -> Iterator[Parameter]:
    seen: set[str] = set()
    for index, item in enumerate(as_list(raw)):
        fields = as_mapping(item)
        name = _text(fields.get("Name"))
        yield Parameter(
            name=name,
            kind=_text(fields.get("Type")),
            path=_path("Parameters", name, index, seen),
            raw=fields,
        )


def _steps(raw: object, parent: str, branch: Branch, seen: set[str]) -> Iterator[Step]:
    for index, item in enumerate(as_list(raw)):
        fields = as_mapping(item)
        name = _text(fields.get("Name"))
        step = Step(
            name=name,
            kind=_text(fields.get("Type")),
            path=_path(parent, name, index, seen),
            raw=fields,
            branch=branch,
        )
        yield step
        if step.kind == CONDITION:
            for key in BRANCH_KEYS:
                inner = (*branch, (name, key))
                path = f"{step.arguments_path}.{key}"
                yield from _steps(step.arguments.get(key), path, inner, seen)


def _path(parent: str, name: str, index: int, seen: set[str]) -> str:
    """By name where that is unambiguous, else by position."""
    if not name or name in seen:
        return f"{parent}[{index}]"
    seen.add(name)
    return f"{parent}.{name}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
