"""Stands in for Lambda's Python runtime: a script of its own process. Standard library only.

It talks JSON lines: reads the request, may ask for listings, writes the answer. A handler module
`x.y.preflight` with a function `preflight(event, list_objects)` gets the simulator's lister;
another handler is called as Lambda calls it, `handler(event, context)`, and so is every handler of
a function that calls AWS itself.
"""

import importlib
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from typing import IO, Any, Final

WARNING_PREFIX: Final = "WARNING "
"""How a line of the log begins that the user should see."""


def main() -> None:
    """Serve one event."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the function prints belongs to its log
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(message)s")
    request = json.loads(sys.stdin.readline())
    sys.path.insert(0, request["folder"])
    # An editable install adds a finder that would serve modules which the asset lacks.
    sys.meta_path[:] = [BuiltinImporter, FrozenImporter, PathFinder]
    try:
        answer = {"result": _call(request, answers)}
        text = json.dumps(answer)
        sys.stdout.flush()
    except Exception as error:
        logging.getLogger("runtime").exception("The function raised")
        text = json.dumps({"error": {"type": type(error).__name__, "message": str(error)}})
    answers.write(text + "\n")
    answers.flush()


def _call(request: Mapping[str, Any], answers: IO[str]) -> object:
    module_name, _, handler_name = request["handler"].rpartition(".")
    module = importlib.import_module(module_name.replace("/", "."))
    pure: Callable[..., object] | None = getattr(module, module_name.rpartition(".")[2], None)
    lists = callable(pure) and hasattr(module, "StoredObject") and not request["calls_aws"]
    if pure is not None and lists:
        return pure(request["event"], _lister(module.StoredObject, answers))
    handler: Callable[..., object] = getattr(module, handler_name)
    return handler(request["event"], None)


def _lister(make: Callable[..., object], answers: IO[str]) -> Callable[[str, str], list[object]]:
    def list_objects(bucket: str, prefix: str) -> list[object]:
        answers.write(json.dumps({"list": {"bucket": bucket, "prefix": prefix}}) + "\n")
        answers.flush()
        return [make(**entry) for entry in json.loads(sys.stdin.readline())["objects"]]

    return list_objects


if __name__ == "__main__":
    main()
