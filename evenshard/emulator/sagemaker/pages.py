"""Lists in pages: MaxResults and NextToken."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evenshard.emulator.sagemaker.errors import INVALID, ServiceError

_LARGEST_PAGE: Final = 100
_PREFIX: Final = "evenshard:"


def page_of(
    members: Sequence[Mapping[str, Any]], field: str, request: Mapping[str, Any]
) -> dict[str, Any]:
    """The part of a list that a request asks for.

    Args:
        members: the whole list.
        field: what the response calls it.
        request: with NextToken and MaxResults, where given.

    Raises:
        ServiceError: a NextToken that no page ever gave.
    """
    start = _position(request.get("NextToken"))
    end = start + request.get("MaxResults", _LARGEST_PAGE)
    page: dict[str, Any] = {field: list(members[start:end])}
    if end < len(members):
        page["NextToken"] = base64.b64encode(f"{_PREFIX}{end}".encode()).decode()
    return page


def _position(token: str | None) -> int:
    if token is None:
        return 0
    try:
        text = base64.b64decode(token, validate=True).decode()
        return int(text.removeprefix(_PREFIX)) if text.startswith(_PREFIX) else int("no number")
    except (binascii.Error, ValueError) as error:
        raise ServiceError(
            INVALID, f"NextToken {token!r} is none. Give the one that the last page came with."
        ) from error
