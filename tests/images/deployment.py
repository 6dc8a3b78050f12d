"""What `cdk deploy` needs in order to build images where no docker runs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.images.cdk_docker import PIP_VARIABLE, PUSHED, STORE_VARIABLE
from tests.images.needs import need_images
from tests.images.pip_configuration import write_pip_configuration
from tests.images.standin import make_standins
from tests.images.store import Store


@contextmanager
def image_store(folder: Path) -> Iterator[Store]:
    """A store with the stand-ins of all bases in an empty folder, gone when the block ends.

    Skips the test where images cannot be built, or fails it, as `need_images` says.
    """
    need_images()
    store = Store(folder=folder)
    store.create()
    try:
        write_pip_configuration(folder / "pip.conf")
        make_standins(store)
        yield store
    finally:
        store.delete()


def cdk_variables(store: Store) -> Mapping[str, str]:
    """The variables with which the CDK builds into this store."""
    return {
        "CDK_DOCKER": str(Path(__file__).with_name("cdk_docker.py")),
        STORE_VARIABLE: str(store.folder),
        PIP_VARIABLE: str(store.folder / "pip.conf"),
    }


def pushed_images(store: Store) -> list[str]:
    """The names in ECR under which images were "pushed", in order; `Store.laid_out` takes them."""
    file = store.folder / PUSHED
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []
