"""The tables [triggers], [notifications] and [budget] of a settings file."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from infra.operations.schedule import checked_schedule
from infra.section import NamedOnce, Section

_RUNBOOK = "docs/operations.md"
_ADDRESS = r"^https://[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+$"
"""What may be in a URL: EventBridge would take `<a>` for a value of the event."""
Framework = Literal["pytorch", "tensorflow"]
Frameworks = Annotated[tuple[Framework, ...], Field(strict=False), NamedOnce]
EmailAddress = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$",
        max_length=320,
    ),
]
ScheduleExpression = Annotated[str, AfterValidator(checked_schedule)]


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


class NotificationSettings(Section):
    """Who is told of failures."""

    emails: Annotated[tuple[EmailAddress, ...], Field(max_length=20, strict=False), NamedOnce]
    """Each must confirm once. May be empty: then subscribe to the topic in another way."""
    runbook: Annotated[str, Field(pattern=_ADDRESS, max_length=500)] | None = None
    """Address of docs/operations.md for those who are called, https://...: every message and alarm
    names it. Left out: its path in the repository."""

    @property
    def where_to_read(self) -> str:
        """What messages and alarms name."""
        return self.runbook or _RUNBOOK


class BudgetSettings(Section):
    """A limit on what is spent on resources with this environment's tag."""

    monthly_usd: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """US dollars a month, 1..10000000; left out: no budget. In most regions of partition aws."""


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
