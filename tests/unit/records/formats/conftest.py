"""Fixtures of several formats' tests."""

import pytest

from training.records.formats import tar as tar_module
from training.records.formats import tar_index


@pytest.fixture(params=["arrays", "walking"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of finding samples: by numpy, and header by header."""
    if request.param == "walking":
        for module in (tar_module, tar_index):
            monkeypatch.setattr(module, "_by_arrays", lambda *_: None)
    return str(request.param)
