"""The code of functions, to be had: GetFunction names an address that answers with the zip file.

moto keeps the zip file of every function and names an address of AWS, where it is not.
"""

import functools
import json
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from moto.awslambda.exceptions import UnknownFunctionException
from moto.awslambda.models import lambda_backends
from moto.awslambda.responses import LambdaResponse

from evenshard.simulator.deployment.resources import ACCOUNT

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_FOLDER: Final = "/_evenshard/functions"
_ADDRESS: Final = re.compile(rf"{_FOLDER}/([a-z0-9-]+)/([\w-]+)\.zip")


@functools.cache
def teach_function_code() -> None:
    """Change moto in this process; a second call does nothing."""
    original = LambdaResponse.get_function
    LambdaResponse.get_function = _with_address(original)  # type: ignore[assignment,method-assign] # see above


def _with_address(original: Callable[[LambdaResponse], str]) -> Callable[[LambdaResponse], str]:
    @functools.wraps(original)
    def get_function(self: LambdaResponse) -> str:
        answer = json.loads(original(self))
        name = quote(answer["Configuration"]["FunctionName"])
        if "ImageUri" not in answer.get("Code", {}):
            answer["Code"] = {
                "RepositoryType": "S3",
                "Location": f"http://{self.headers['Host']}{_FOLDER}/{self.region}/{name}.zip",
            }
        return json.dumps(answer)

    return get_function


def function_code(inner: "WSGIApplication") -> "WSGIApplication":
    """The layer that answers with zip files; `inner` answers everything else."""

    def application(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        address = _ADDRESS.fullmatch(environ["PATH_INFO"])
        if address is None:
            return inner(environ, start_response)
        region, name = address.groups()
        try:
            content = lambda_backends[ACCOUNT][region].get_function(name).code_bytes
            status = "200 OK"
        except UnknownFunctionException:
            content, status = b"", "404 Not Found"
        headers = [("Content-Type", "application/zip"), ("Content-Length", str(len(content)))]
        start_response(status, headers)
        return [content]

    return application
