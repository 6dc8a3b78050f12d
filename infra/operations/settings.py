"""The tables [triggers], [notifications] and [budget] of a settings file."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from infra.section import Section

Framework = Literal["pytorch", "tensorflow"]
Frameworks = Annotated[tuple[Framework, ...], Field(strict=False)]
EmailAddress = Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$", max_length=320)]
ScheduleExpression = Annotated[
    str,
    Field(
        pattern=r"^(rate\(([1-9]\d*) (minute|minutes|hour|hours|day|days)\)|cron\(\S+( \S+){5}\))$"
    ),
]


class TriggerSettings(Section):
    """What starts executions without a person."""

    on_dataset: Frameworks
    """Pipelines that start when a data set is published; may be empty."""
    on_schedule: Frameworks
    """Pipelines that start at the times of `schedule`, with the default data; may be empty."""
    schedule: ScheduleExpression | None = None
    """`rate(7 days)` or `cron(0 3 ? * MON *)`, in UTC: EventBridge's schedule expressions."""

    @model_validator(mode="after")
    def _a_schedule_has_pipelines(self) -> Self:
        if (self.schedule is None) != (not self.on_schedule):
            raise ValueError(
                f"schedule is {self.schedule!r} and on_schedule is {list(self.on_schedule)}. Give "
                "both, or leave schedule out and on_schedule empty."
            )
        return self

    @field_validator("on_dataset", "on_schedule")
    @classmethod
    def _named_once(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(given)) < len(given):
            raise ValueError("a framework is named twice. Name each once: it has one pipeline.")
        return given


class NotificationSettings(Section):
    """Who is told of failures."""

    emails: Annotated[tuple[EmailAddress, ...], Field(max_length=20, strict=False)]
    """Each must confirm once. May be empty: then subscribe to the topic in another way."""


class BudgetSettings(Section):
    """A limit on what is spent on resources with this environment's tag."""

    monthly_usd: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """US dollars a month, 1..10000000; left out: no budget. Partition aws only."""


def triggers_problem(triggers: TriggerSettings, frameworks: tuple[str, ...]) -> str | None:
    """What is wrong with the triggers for these deployed frameworks; None where nothing is."""
    for key in ("on_dataset", "on_schedule"):
        unknown = [name for name in getattr(triggers, key) if name not in frameworks]
        if unknown:
            return (
                f"triggers.{key} names {', '.join(unknown)}, which frameworks does not. Allowed: "
                f"{', '.join(frameworks)}. Deploy that framework, or take it out of {key}."
            )
    return None
