"""From what the ranks of one host left behind to one sentence: why the job failed."""

import json
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from training.contract.failure import SECONDARY_FAILURE, lost_peer

FAILURES_FILE: Final = "failures.json"
"""What an agent writes: `{"exit_codes": {"<local rank>": code}, "error": text or null}`."""
LOGS_FOLDER: Final = "logs"
EXCEPTION_FILE: Final = "error.json"
"""Where every rank leaves its exception, below the logs folder: `.../<local rank>/error.json`."""

_TIMED_OUT: Final = re.compile(r"timed? ?out|timeout", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of a host's failed ranks, by local rank."""

    exceptions: Mapping[int, str]
    exit_codes: Mapping[int, int]
    """Negative: the signal that ended the rank."""
    agent_error: str | None = None
    """Why what started the ranks failed itself."""

    @property
    def lost(self) -> list[int]:
        """Ranks that only say that another one is gone."""
        return [rank for rank, text in sorted(self.exceptions.items()) if lost_peer(text)]

    @property
    def causes(self) -> list[int]:
        """Ranks with an exception of their own."""
        return sorted(self.exceptions.keys() - set(self.lost))

    @property
    def killed(self) -> list[int]:
        """Ranks that a signal ended, other than the one that ends ranks beside a failed one.

        Not those that left an exception: what they said of their end counts. While a rank ends with
        one, gloo's threads may abort it.
        """
        codes = sorted(self.exit_codes.items())
        return [
            rank
            for rank, code in codes
            if code < 0 and -code != signal.SIGTERM and rank not in self.exceptions
        ]

    @property
    def silent(self) -> list[int]:
        """Ranks that failed and left no exception."""
        codes = sorted(self.exit_codes.items())
        return [rank for rank, code in codes if code > 0 and rank not in self.exceptions]

    @property
    def has_timed_out(self) -> bool:
        """Whether a rank says that it waited in vain."""
        return any(_TIMED_OUT.search(self.exceptions[rank]) for rank in self.lost)

    def silent_among(self, ranks: int) -> list[int]:
        """The ranks, of so many, that left no exception at all."""
        return [rank for rank in range(ranks) if rank not in self.exceptions]

    @property
    def is_primary(self) -> bool:
        """Whether a rank of this host failed by itself, not because another one was gone."""
        return bool(self.causes or self.killed or self.silent)


def collect(scratch: Path) -> Evidence:
    """Read the failure files below a scratch folder. Missing and broken ones count for nothing."""
    exceptions = {}
    for file in (scratch / LOGS_FOLDER).rglob(EXCEPTION_FILE):
        text = _exception_text(_read(file))
        if text is not None and file.parent.name.isdigit():
            exceptions[int(file.parent.name)] = text
    report = _read(scratch / FAILURES_FILE)
    codes = report.get("exit_codes", {})
    return Evidence(
        exceptions=exceptions,
        exit_codes={int(rank): int(code) for rank, code in codes.items()},
        agent_error=report.get("error"),
    )


def explain(
    evidence: Evidence, *, host: str, first_rank: int, exit_code: int, exception_advice: str
) -> str:
    """Name the root cause.

    Ranks that only lost a peer fail within the same second as the one that caused it, so order in
    time says little: what kind of failure it is decides.

    Args:
        evidence: of this host's ranks.
        host: this host's name.
        first_rank: the global rank of local rank 0.
        exit_code: of what started the ranks.
        exception_advice: what a script has to do for its exceptions to be seen.
    """
    exceptions, codes = evidence.exceptions, evidence.exit_codes
    if evidence.causes:
        rank = evidence.causes[0]
        return f"{host}, rank {first_rank + rank}: {exceptions[rank]}"
    if evidence.killed:
        rank = evidence.killed[0]
        return f"{host}, rank {first_rank + rank} {_killed_by(-codes[rank])}"
    if evidence.silent:
        rank = evidence.silent[0]
        return f"{host}, rank {first_rank + rank} {_exited_with(codes[rank], exception_advice)}"
    if evidence.lost:
        return _secondary(host, exceptions[evidence.lost[0]])
    if evidence.agent_error is not None and lost_peer(evidence.agent_error):
        return _secondary(host, evidence.agent_error)
    return f"{host}: {evidence.agent_error or f'the ranks ended with {exit_code}: see the log.'}"


def _killed_by(number: int) -> str:
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    advice = (
        " Nothing but a lack of memory usually does that: lower batch_size, or take an instance "
        "with more memory."
        if number == signal.SIGKILL
        else ""
    )
    return f"was killed by {name}.{advice}"


def _exited_with(code: int, exception_advice: str) -> str:
    return (
        f"exited with {code} and left no exception: its log says why. To see exceptions here, "
        f"{exception_advice}."
    )


def _secondary(host: str, text: str) -> str:
    return (
        f"{SECONDARY_FAILURE}{host}: it lost the other ranks. Look for the cause in the failure or "
        f"the log of another host. ({_first_line(text)})"
    )


def lost_the_others(host: str, cause: str) -> str:
    """What a host says that lost the other ranks, when it knows why."""
    return f"{SECONDARY_FAILURE}{host}: it lost the other ranks. The cause: {cause}"


def _first_line(text: str) -> str:
    """The line that says what happened: TensorFlow puts the lines of the program before it."""
    kind, _, told = text.partition(": ")
    said = told.rpartition("Collective ops is aborted by: ")[2].strip()
    return f"{kind}: {said.partition(chr(10))[0]}"


def _exception_text(report: dict[str, Any]) -> str | None:
    message = report.get("message")
    text = message.get("message") if isinstance(message, dict) else message
    return text if isinstance(text, str) else None


def _read(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # a rank that was killed while it wrote
    return content if isinstance(content, dict) else {}
