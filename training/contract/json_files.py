"""Reading the JSON files that SageMaker lays into a container."""

import json
from pathlib import Path
from typing import Any

from training.contract.errors import ContractError


def read_object(path: Path) -> dict[str, Any]:
    """Read a file that must hold one JSON object.

    Raises:
        ContractError: the file is missing, is not JSON, or holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ContractError(
            f"{path} does not exist. SageMaker writes it before a container starts; elsewhere "
            "set SAGEMAKER_BASE_DIR to a folder that holds it."
        ) from None
    except ValueError as error:
        raise ContractError(f"{path} is not JSON ({error}). Write one JSON object.") from None
    if not isinstance(content, dict):
        raise ContractError(f"{path} holds a {type(content).__name__}. Write one JSON object.")
    return content
