"""Tests of images are skipped with a word, or not at all."""

import shutil
import subprocess

import pytest

from tests.images import needs


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda _: None)


@pytest.mark.usefixtures("nothing_installed")
def test_a_skip_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(needs.REQUIRED, raising=False)
    with pytest.raises(
        pytest.skip.Exception, match=r"buildah.* not found: apt-get install buildah"
    ):
        needs.need_images()


@pytest.mark.usefixtures("nothing_installed")
def test_where_images_are_required_nothing_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(needs.REQUIRED, "1")
    with pytest.raises(pytest.fail.Exception, match=r"is 1, but .*buildah"):
        needs.need_images()


def test_a_container_that_may_not_nest_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    refused = subprocess.CompletedProcess(["unshare"], 1, "", "unshare failed: not permitted\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: refused)
    assert needs.missing() == "new namespaces are refused here: unshare failed: not permitted"
