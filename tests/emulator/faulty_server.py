"""The emulator, failing by rule: behind a layer of our own, in a process of its own.

`python -m tests.emulator.faulty_server` prints its address. Rules are set by PUT /-/rules, which
also forgets the requests so far; GET /-/requests lists those since.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from threading import Event, Lock
from typing import Any, Final
from urllib.parse import parse_qs
from wsgiref.types import StartResponse, WSGIApplication
from xml.sax.saxutils import escape

FOREVER: Final = 10**6
Environ = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What somebody else does to an object while the request is answered."""

    method: str
    """PUT or DELETE."""
    path: str
    """/bucket/key"""
    body: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What goes wrong, and when."""

    operation: str
    """As the API calls it: GetObject, ListObjectsV2, CreateModelPackage, ..."""
    path: str = ""
    """A regular expression to be found in the request's path and query, as /bucket/prefix/."""
    first: int = 1
    """The first such request that it happens to."""
    times: int = 1
    status: int = 200
    """Of the answer; above 299 the request is not carried out."""
    code: str = ""
    message: str = "injected"
    keep_bytes: int | None = None
    """How much of the answer's body is sent before the connection breaks."""
    dies: bool = False
    """Whether the server dies then: where `keep_bytes` ends, or before it answers."""
    change: Change | None = None
    """Done when the answer is there and not yet sent."""

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def rule_of(document: Mapping[str, Any]) -> Rule:
    """Read a rule."""
    change = document["change"]
    return Rule(**{**document, "change": Change(**change) if change else None})


@dataclass(slots=True)
class FaultLayer:
    """Passes requests on, or does not, as its rules say."""

    inner: WSGIApplication
    rules: list[tuple[Rule, list[int]]] = field(default_factory=list)
    """With how many requests each has met."""
    requests: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        path, query = environ["PATH_INFO"], environ.get("QUERY_STRING", "")
        if path.startswith("/-/"):
            return self._control(path, environ, start_response)
        rule = self._due(operation_of(environ), f"{path}?{query}".rstrip("?"))
        if rule is None:
            return self.inner(environ, start_response)
        if rule.status > 299:
            return _refuse(rule, environ, start_response)
        return self._disturbed(rule, environ, start_response)

    def _due(self, operation: str, path: str) -> Rule | None:
        """The rule that this request falls under."""
        with self.lock:
            self.requests.append(f"{operation} {path}")
            for rule, met in self.rules:
                if rule.operation == operation and re.search(rule.path, path):
                    met[0] += 1
                    if rule.first <= met[0] < rule.first + rule.times:
                        return rule
        return None

    def _disturbed(
        self, rule: Rule, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        if rule.dies and rule.keep_bytes is None:
            os._exit(9)
        body = b"".join(self.inner(environ, start_response))
        if rule.change is not None:
            self._do(rule.change, environ)
        if rule.keep_bytes is None:
            return [body]
        return _broken_off(body[: rule.keep_bytes], dies=rule.dies)

    def _do(self, change: Change, environ: Environ) -> None:
        from werkzeug.test import Client  # noqa: PLC0415 - the tests import this module without it

        answer = Client(self.inner).open(
            change.path,
            method=change.method,
            data=change.body.encode(),
            headers={"Host": environ["HTTP_HOST"], "Authorization": environ["HTTP_AUTHORIZATION"]},
        )
        assert answer.status_code < 300, answer.text

    def _control(
        self, path: str, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        with self.lock:
            if path == "/-/rules":
                body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
                self.rules[:] = [(rule_of(document), [0]) for document in json.loads(body)]
                self.requests.clear()
            start_response("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(self.requests).encode()]


def operation_of(environ: Environ) -> str:
    """The API's name of a request, of those that the tests are about."""
    target = environ.get("HTTP_X_AMZ_TARGET")
    if target:
        return str(target).rpartition(".")[2]
    method, query = environ["REQUEST_METHOD"], environ.get("QUERY_STRING", "")
    names = parse_qs(query, keep_blank_values=True).keys()
    in_parts = {"PUT": "UploadPart", "POST": "CompleteMultipartUpload"}
    if "uploadId" in names:
        return in_parts.get(method, "AbortMultipartUpload")
    if "uploads" in names:
        return "CreateMultipartUpload" if method == "POST" else "ListMultipartUploads"
    if "list-type" in names:
        return "ListObjectsV2"
    is_bucket = "/" not in environ["PATH_INFO"].strip("/")
    return f"{method.title()}{'Bucket' if is_bucket else 'Object'}"


def _refuse(rule: Rule, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    environ["wsgi.input"].read(length)  # or the client gets a broken pipe while it sends
    if "HTTP_X_AMZ_TARGET" in environ:
        body = json.dumps({"__type": rule.code, "message": rule.message})
        kind = "application/x-amz-json-1.1"
    else:
        words = f"<Code>{escape(rule.code)}</Code><Message>{escape(rule.message)}</Message>"
        body, kind = f'<?xml version="1.0"?><Error>{words}</Error>', "application/xml"
    start_response(f"{rule.status} {rule.code}", [("Content-Type", kind)])
    return [body.encode()]


def _broken_off(kept: bytes, *, dies: bool) -> Iterable[bytes]:
    yield kept
    if dies:
        os._exit(9)
    raise ConnectionAbortedError("broken off by a rule")


def main() -> None:
    """Serve until killed."""
    from evenshard.emulator.server import Emulator  # noqa: PLC0415 - only the server needs moto

    with Emulator(layers=[FaultLayer]) as emulator:
        sys.stdout.write(f"{emulator.url}\n")
        sys.stdout.flush()
        Event().wait()


if __name__ == "__main__":
    main()
