"""The images of the dev environment, built once upon stand-ins of their bases."""

from collections.abc import Iterator, Mapping

import pytest

from evenshard.images.assets import ImageAsset, read_images
from evenshard.simulator.deployment.assembly import synthesize
from tests.images.deployment import image_store
from tests.images.needs import need_images
from tests.images.standin import tag
from tests.images.store import Store


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with a stand-in for each base image."""
    with image_store(tmp_path_factory.mktemp("images")) as store:
        yield store


@pytest.fixture(scope="session")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, ImageAsset]:
    """What a deployment builds, by framework."""
    need_images()
    folder = tmp_path_factory.mktemp("assembly")
    synthesize(folder)
    return {image.framework: image for image in read_images(folder)}


@pytest.fixture(scope="session")
def built(store: Store, assets: Mapping[str, ImageAsset]) -> Mapping[str, str]:
    """Tags of the images that `python -m evenshard.images` built, by framework."""
    bases = [f"--base-image={name}={tag(name)}" for name in assets]
    assembly = next(iter(assets.values())).folder.parent
    configuration = f"--pip-configuration={store.folder / 'pip.conf'}"
    store.run_module("evenshard.images", str(assembly), *bases, configuration)
    return {name: image.tag for name, image in assets.items()}
