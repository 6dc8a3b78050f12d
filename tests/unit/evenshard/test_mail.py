import pytest

from evenshard.mail import readable_text

PLAIN = b"""From list@example.org  Thu Aug 22 12:36:23 2002
Received: from relay.example.org (secret-relay)
From: Robert <robert@example.org>
Subject: New  sequences
\twindow
X-Mailer: tell-tale

First line
 second   line
"""


def test_keeps_subject_and_body_and_no_other_header() -> None:
    assert readable_text(PLAIN) == "New sequences window First line second line"


@pytest.mark.parametrize(
    ("charset", "body", "expected"),
    [
        ("utf-8", "naïve".encode(), "naïve"),
        ("iso-8859-1", "naïve".encode("latin-1"), "naïve"),
        ("gb2312", "美女".encode("gb18030"), "美女"),
        ("chinesebig5", "免費".encode("big5"), "免費"),
        ("us-ascii", "naïve".encode(), "naïve"),  # a wrong declaration
        ("default_charset", "déjà".encode("cp1252"), "déjà"),  # an unknown one
        ("us-ascii", b"\x81 caf\xe9", "\x81 café"),  # what only latin-1 decodes
    ],
)
def test_decodes_declared_wrong_and_unknown_charsets(
    charset: str, body: bytes, expected: str
) -> None:
    header = f"Subject: s\nContent-Type: text/plain; charset={charset}\n\n".encode()
    assert readable_text(header + body) == f"s {expected}"


def test_decodes_transfer_encodings_and_encoded_subjects() -> None:
    mail = (
        b"Subject: =?iso-8859-1?Q?caf=E9?= au =?utf-8?B?bGFpdA==?=\n"
        b"Content-Transfer-Encoding: quoted-printable\n"
        b"Content-Type: text/plain; charset=utf-8\n\nna=C3=AFve soft=\n break\n"
    )
    assert readable_text(mail) == "café au lait naïve soft break"


def test_a_damaged_encoded_subject_stands_for_itself() -> None:
    assert readable_text(b"Subject: =?utf-8?B?a?=\n\nbody\n") == "=?utf-8?B?a?= body"


def test_strips_markup_scripts_and_styles_of_html() -> None:
    mail = (
        b"Subject: s\nContent-Type: text/html\n\n<html><head><style>p {}</style></head>"
        b"<body>Buy&nbsp;now<script>alert(1)</script><!-- hidden --><p>cheap</body></html>"
    )
    assert readable_text(mail) == "s Buy now cheap"


def _multipart(*parts: bytes) -> bytes:
    body = b"".join(b"--b\n" + part + b"\n" for part in parts)
    return b"Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n" + body + b"--b--\n"


HTML_PART = b"Content-Type: text/html\n\n<b>rich</b>"


def test_prefers_the_plain_part_and_falls_back_to_html() -> None:
    assert readable_text(_multipart(b"Content-Type: text/plain\n\nplain", HTML_PART)) == "s plain"
    assert readable_text(_multipart(b"Content-Type: text/plain\n\n \n", HTML_PART)) == "s rich"


def test_leaves_attachments_out() -> None:
    attachment = b"Content-Type: text/plain\nContent-Disposition: attachment\n\nattached"
    assert readable_text(_multipart(attachment, HTML_PART)) == "s rich"


def test_an_empty_body_leaves_the_subject() -> None:
    assert readable_text(b"Subject: Important\n\n") == "Important"


def test_a_body_without_subject_stands_alone() -> None:
    assert readable_text(b"From: a@example.org\n\nhello\n") == "hello"
