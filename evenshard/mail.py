"""A raw mail as the text a classifier may see: its subject and its text body, nothing else.

The other headers are left out on purpose: in a corpus from few sources they give the label away.
"""

import email
import email.message
import email.policy
import re
import warnings
from collections.abc import Iterable
from email.errors import HeaderParseError
from email.header import decode_header

from bs4 import BeautifulSoup, MarkupResemblesLocatorWarning

# Names that mail uses for a charset, and the superset of it that real mail is written in.
_CHARSET_ALIASES = {
    "chinesebig5": "big5hkscs",
    "big5": "big5hkscs",
    "gb2312": "gb18030",
    "ks_c_5601-1987": "cp949",
}
# What mail with no charset, or a wrong one, is most often written in; latin-1 decodes any bytes.
_FALLBACK_CHARSETS = ("utf-8", "cp1252", "latin-1")
_INVISIBLE_TAGS = ("script", "style")


def readable_text(raw: bytes) -> str:
    """Return subject and body as one line of text, runs of white space made one space.

    Args:
        raw: one mail as RFC 822 bytes, an mbox `From ` line before it allowed.

    Returns:
        The subject, a space, the body. Plain-text parts are taken where they hold any text, else
        the HTML parts without markup; attachments never. A mail with an empty body is its subject.
    """
    message = email.message_from_bytes(raw, policy=email.policy.compat32)
    parts = [part for part in message.walk() if _is_body(part)]
    plain = _joined(_decoded(part) for part in parts if part.get_content_type() != "text/html")
    html = [part for part in parts if part.get_content_type() == "text/html"]
    body = plain or _joined(_without_markup(_decoded(part)) for part in html)
    return _joined((_subject(message), body))


def _is_body(part: email.message.Message) -> bool:
    return (
        part.get_content_maintype() == "text"
        and not part.is_multipart()
        and part.get_content_disposition() != "attachment"
    )


def _joined(texts: Iterable[str]) -> str:
    return re.sub(r"\s+", " ", " ".join(texts)).strip()


def _subject(message: email.message.Message) -> str:
    subject = message.get("Subject")
    if subject is None:
        return ""
    try:
        chunks = decode_header(subject)
    except HeaderParseError:  # a damaged encoded word stands for itself
        return str(subject)
    return "".join(
        _decode(chunk, charset) if isinstance(chunk, bytes) else chunk for chunk, charset in chunks
    )


def _decoded(part: email.message.Message) -> str:
    payload = part.get_payload(decode=True)
    return _decode(payload, part.get_content_charset()) if isinstance(payload, bytes) else ""


def _decode(payload: bytes, declared: str | None) -> str:
    candidates = (_CHARSET_ALIASES.get(declared, declared),) if declared else ()
    for charset in (*candidates, *_FALLBACK_CHARSETS):
        try:
            return payload.decode(charset)
        except (LookupError, UnicodeDecodeError):
            continue
    raise AssertionError("latin-1 decodes any bytes")


def _without_markup(html: str) -> str:
    with warnings.catch_warnings():  # a body that is only an address is text all the same
        warnings.simplefilter("ignore", MarkupResemblesLocatorWarning)
        soup = BeautifulSoup(html, "html.parser")
    for tag in soup(_INVISIBLE_TAGS):
        tag.decompose()
    return soup.get_text(" ")
