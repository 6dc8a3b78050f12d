"""What the base images bring of what ours need: it is left as it is, never replaced."""

from collections.abc import Mapping
from typing import Final

BROUGHT: Final[Mapping[str, tuple[str, ...]]] = {
    "pytorch": (
        "markupsafe",
        "numpy",
        "packaging",
        "protobuf",
        "setuptools",
        "typing-extensions",
        "werkzeug",
    ),
    "tensorflow": (
        "absl-py",
        "h5py",
        "markdown-it-py",
        "mdurl",
        "ml-dtypes",
        "namex",
        "numpy",
        "optree",
        "packaging",
        "pygments",
        "rich",
        "typing-extensions",
    ),
}
"""Names of distributions, by framework. pip trusts what is installed and asks no hash for it.

Source: the lock files below docker/ of aws/deep-learning-containers@e0ecede; no image was pulled.
"""
