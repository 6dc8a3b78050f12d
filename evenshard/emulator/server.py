"""The server: every service on one port of this machine, its state in memory until it stops."""

import socket
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final, Self
from wsgiref.types import WSGIApplication

import boto3
from moto.moto_api._internal.models import moto_api_backend
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import BaseWSGIServer, make_server

from evenshard.emulator.cloudformation import teach_cloudformation
from evenshard.simulator.deployment.resources import REGION

HOST: Final = "127.0.0.1"

Layer = Callable[[WSGIApplication], WSGIApplication]
"""Answers some requests itself and hands the others to the application that it is given."""


class Emulator:
    """One server in this process. There is one state per process, so start one at a time."""

    def __init__(self, *, port: int = 0, layers: Sequence[Layer] = ()) -> None:
        """Take the port.

        Args:
            port: 0 for any free one.
            layers: what sees the requests before moto does, the outermost first.

        Raises:
            OSError: the port is taken.
        """
        teach_cloudformation()
        application: WSGIApplication = DomainDispatcherApplication(create_backend_app)
        for layer in reversed(layers):
            application = layer(application)
        # Given a port, werkzeug would end the whole process where it is taken.
        with socket.create_server((HOST, port)) as listening:
            self._server: BaseWSGIServer = make_server(
                HOST,
                port,
                application,
                threaded=True,
                request_handler=_QuietRequestHandler,
                fd=listening.fileno(),
            )
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """The endpoint of every service."""
        return f"http://{HOST}:{self._server.port}"

    def environment(self) -> dict[str, str]:
        """What boto3, the AWS CLI and the CDK CLI need to find the server and nothing else."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            # moto finds the bucket of a template's address by this name of the machine only.
            "AWS_ENDPOINT_URL_S3_FOR_CLOUDFORMATION": self.url.replace(HOST, "localhost"),
            "AWS_ACCESS_KEY_ID": "emulated",
            "AWS_SECRET_ACCESS_KEY": "emulated",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, service: str) -> Any:  # noqa: ANN401 - boto3 has a type per service
        """Connect boto3 to a service here, whatever the environment of this process says."""
        given = self.environment()
        return boto3.client(
            service,  # type: ignore[call-overload] # one of many names
            endpoint_url=self.url,
            region_name=given["AWS_REGION"],
            aws_access_key_id=given["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=given["AWS_SECRET_ACCESS_KEY"],
        )

    def start(self) -> None:
        """Serve, in a thread of this process."""
        self._thread.start()

    def stop(self) -> None:
        """Serve no more, and forget everything."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        moto_api_backend.reset()

    def __enter__(self) -> Self:
        """Serve."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()


class _QuietRequestHandler(MotoRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing: thousands of requests are nothing to read."""
