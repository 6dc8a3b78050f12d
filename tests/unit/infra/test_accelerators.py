"""Instances that an image could not use."""

import pytest

from infra.pipeline.accelerators import accelerator_problem
from infra.settings import load_settings

CUDA_13 = "registry/pytorch:2.13.0-cu133-amzn2023-sagemaker"
CUDA_12 = "registry/tensorflow-training:2.21.0-gpu-py312-cu129-amzn2023-sagemaker"


@pytest.mark.parametrize(
    ("image", "instance_type", "usable"),
    [
        (CUDA_13, "ml.g5.12xlarge", True),
        (CUDA_13, "ml.g4dn.xlarge", True),
        (CUDA_13, "ml.p3.2xlarge", False),
        (CUDA_13, "ml.p3dn.24xlarge", False),
        (CUDA_12, "ml.p3.2xlarge", True),
        (CUDA_12, "ml.p2.xlarge", False),
        (CUDA_12, "ml.trn1.2xlarge", False),
        # On processors anything runs, slowly.
        (CUDA_13, "ml.c7i.4xlarge", True),
        # Of these nothing is known.
        ("registry/pytorch:2.13.0-cpu-amzn2023-sagemaker", "ml.p3.2xlarge", True),
        ("registry/pytorch-training-neuronx:2.9", "ml.trn1.2xlarge", True),
        ("registry/curl:8", "ml.p3.2xlarge", True),
    ],
)
def test_what_an_image_can_use(image: str, instance_type: str, *, usable: bool) -> None:
    problem = accelerator_problem("pytorch.image.base_image", image, [instance_type])
    assert (problem is None) is usable
    if problem:
        assert instance_type in problem
        assert "Allowed: g4dn, g5 and newer GPUs" in problem


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_the_tags_of_our_base_images_say_it(environment: str) -> None:
    settings = load_settings(environment)
    for framework in settings.frameworks:
        image = settings.of_framework(framework).image
        assert image.kind == "build"
        assert accelerator_problem("key", image.base_image, ["ml.trn1.2xlarge"])
