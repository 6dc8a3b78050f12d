"""What is deployed, asked for through AWS's own API: functions and the model registry.

The endpoint is that of the local emulator; nothing here knows it. Imported only where an execution
of deployed resources runs, for importing the SDK takes longer than most commands do.
"""

import base64
import hashlib
import io
import urllib.request
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evenshard.simulator.deployment.functions import FunctionCode
from evenshard.simulator.deployment.registry import Registered
from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.storage.service_errors import GET_FUNCTION, REGISTER, explained

Client = Any
"""Of boto3; its stubs for these services are not worth a dependency."""
_DOWNLOAD_LIMIT_S: Final = 60
_PYTHON: Final = "python"


@dataclass(frozen=True, slots=True)
class DeployedFunctions:
    """Functions as they are deployed: their own zip files, unpacked, with boto3 in reach."""

    client: Client
    """Of Lambda."""
    folder: Path
    """Zip files are unpacked below it."""
    environment: Mapping[str, str]
    """What a function needs to reach AWS, as this process does."""

    def function(self, arn: str, path: str) -> FunctionCode:
        """See Functions."""
        with explained(GET_FUNCTION, arn):
            answer = self.client.get_function(FunctionName=arn)
        configuration = answer["Configuration"]
        runtime = configuration.get("Runtime", "none")
        if not runtime.startswith(_PYTHON):
            raise DefinitionError(
                path, f"{arn} has the runtime {runtime}. Python functions run here, no others."
            )
        return FunctionCode(
            name=configuration["FunctionName"],
            folder=self._unpacked(answer, path),
            handler=configuration["Handler"],
            environment={
                **configuration.get("Environment", {}).get("Variables", {}),
                **self.environment,
            },
            limit_s=configuration["Timeout"],
            calls_aws=True,
        )

    def _unpacked(self, answer: Mapping[str, Any], path: str) -> Path:
        name = answer["Configuration"]["FunctionName"]
        digest = answer["Configuration"]["CodeSha256"]
        location = answer.get("Code", {}).get("Location", "")
        if not location.startswith(("http://", "https://")):
            raise DefinitionError(path, f"GetFunction {name} says no address of its code.")
        try:
            with urllib.request.urlopen(location, timeout=_DOWNLOAD_LIMIT_S) as response:  # noqa: S310 - http only, see above
                content = response.read()
        except OSError as error:
            raise DefinitionError(
                path, f"the code of {name} cannot be downloaded: {error}."
            ) from error
        if base64.b64encode(hashlib.sha256(content).digest()).decode() != digest:
            raise DefinitionError(path, f"the code of {name} is not what CodeSha256 says.")
        folder: Path = self.folder / name / hashlib.sha256(content).hexdigest()[:16]
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(folder)
        return folder


@dataclass(frozen=True, slots=True)
class DeployedRegistry:
    """Model package groups of SageMaker."""

    client: Client
    """Of SageMaker."""

    def register(self, group: str, content: Mapping[str, Any]) -> Registered:
        """See ModelRegistry."""
        request = {**content["request"], "ModelPackageGroupName": group}
        with explained(REGISTER, group):
            arn = self.client.create_model_package(**request)["ModelPackageArn"]
        return Registered(version=int(arn.rpartition("/")[2]), arn=arn)
