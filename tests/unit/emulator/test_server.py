"""The server itself."""

from collections.abc import Callable, Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import pytest

from evenshard.emulator.server import Emulator


def _refusing(path: str) -> Callable[[WSGIApplication], WSGIApplication]:
    def layer(inner: WSGIApplication) -> WSGIApplication:
        def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            if environ["PATH_INFO"].startswith(path):
                start_response("403 Forbidden", [("Content-Length", "0")])
                return [b""]
            return inner(environ, start_response)

        return answer

    return layer


def test_what_a_server_holds_is_gone_when_it_stops() -> None:
    with Emulator() as server:
        server.client("s3").create_bucket(Bucket="kept")
        assert [one["Name"] for one in server.client("s3").list_buckets()["Buckets"]] == ["kept"]
        assert server.url.startswith("http://127.0.0.1:")
    with Emulator() as server:
        assert server.client("s3").list_buckets()["Buckets"] == []


def test_a_layer_answers_before_the_services_do() -> None:
    with Emulator(layers=[_refusing("/secret")]) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket="open")
        with pytest.raises(s3.exceptions.ClientError, match="403"):
            s3.head_bucket(Bucket="secret")


def test_a_port_that_is_taken_is_an_error() -> None:
    with Emulator() as server, pytest.raises(OSError, match="in use"):
        Emulator(port=int(server.url.rpartition(":")[2]))


def test_a_server_that_has_stopped_holds_its_port_no_more() -> None:
    with Emulator() as server:
        assert server._server.fileno() >= 0
    assert server._server.fileno() == -1
