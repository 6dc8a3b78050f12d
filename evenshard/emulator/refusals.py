"""What moto's SageMaker cannot answer, told in words: it gives a 500, which clients repeat."""

import functools
import json
import logging
import re
from collections.abc import Callable
from typing import Any, Final

from moto.core.exceptions import ServiceException
from moto.sagemaker.exceptions import SagemakerClientError
from moto.sagemaker.responses import SageMakerResponse

_Answer = tuple[int, dict[str, Any], str | bytes]
_REPEATED: Final = re.compile(r"An error occ?urred \(\w+\) when calling the \w+ operation: ")
"""What clients put before a message themselves, and moto puts into some."""
_log = logging.getLogger("evenshard.emulator")


@functools.cache
def teach_refusals() -> None:
    """Change moto in this process; a second call does nothing."""
    SageMakerResponse.call_action = _explained(SageMakerResponse.call_action)  # type: ignore[method-assign] # see above
    SagemakerClientError.__init__ = _once(SagemakerClientError.__init__)  # type: ignore[method-assign] # see above


def _explained(call_action: Callable[..., _Answer]) -> Callable[..., _Answer]:
    @functools.wraps(call_action)
    def call(self: SageMakerResponse) -> _Answer:
        operation = self._get_action()  # the one who is asked knows
        try:
            return call_action(self)
        except NotImplementedError:
            return _refusal(f"The emulator has no {operation}. docs/emulator.md lists what it has.")
        except ServiceException:
            raise
        except Exception as error:  # noqa: BLE001 - logged whole; the server must go on
            _log.exception("%s failed", operation)
            text = f"{type(error).__name__}: {error}"
            return _refusal(
                f"The emulator's {operation} cannot answer this request ({text}). Does all that it "
                "names exist?"
            )

    return call


def _refusal(message: str) -> _Answer:
    headers = {"Content-Type": "application/x-amz-json-1.1"}
    return 400, headers, json.dumps({"__type": "ValidationException", "message": message})


def _once(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def init(self: SagemakerClientError, *given: object) -> None:
        original(self, *(_REPEATED.sub("", one) if isinstance(one, str) else one for one in given))

    return init
