"""What it means for a host that its ranks have ended: done, stopped or failed."""

import signal
from dataclasses import dataclass

from training.contract.stops import Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a launcher ends."""

    exit_code: int
    """Of the host's container: SageMaker takes 0 for done or, after its signal, for stopped."""
    failure: str | None = None
    """For the failure file; None: there is nothing to complain of."""
    remark: str | None = None
    """For the log."""


def ended_after_signal(
    host: str, received: signal.Signals, stop: Stop | None, cause: str | None
) -> Ending:
    """The end of a host that was told to stop.

    Args:
        host: its name.
        received: SIGTERM from SageMaker, or SIGINT from a keyboard.
        stop: what the ranks told, None if they ended without an agreement.
        cause: why a rank failed by itself, None if none did. Ranks that are gone take others with
            them: that is no cause.
    """
    if cause is not None:
        return Ending(exit_code=1, failure=cause)
    if received is not signal.SIGTERM:
        why = f"{host}: stopped by {received.name} before the training was done. There is no model."
        return Ending(exit_code=128 + received, failure=why)
    what = str(stop) if stop is not None else "told to stop; nothing was saved since"
    return Ending(exit_code=0, remark=f"{host}: {what}. There is no model.")


def ended_for_others(host: str, why: str, wait_s: float) -> Ending:
    """The end of a host that stopped because others were told to, and was never told itself.

    To exit with 0 would let SageMaker take the job for completed.
    """
    return Ending(
        exit_code=1,
        failure=(
            f"{host}: {why}. {host} itself was not told within {wait_s:g} s (stop_wait_s). There "
            "is no model; started again with the same checkpoints, the training goes on."
        ),
    )
