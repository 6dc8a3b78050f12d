"""Model packages where moto's differ from the service's: approval, deletion, version numbers."""

import functools
import threading
from typing import Any
from weakref import WeakKeyDictionary

from moto.core.responses import ActionResult, EmptyResult
from moto.sagemaker.exceptions import ConflictException, ValidationError
from moto.sagemaker.models import ModelPackage, ModelPackageGroup, SageMakerModelBackend
from moto.sagemaker.responses import SageMakerResponse


@functools.cache
def teach_model_packages() -> None:
    """Change moto in this process; a second call does nothing."""
    backend, response = SageMakerModelBackend, SageMakerResponse
    backend.update_model_package = _keeping_metadata(  # type: ignore[method-assign] # see above
        backend.update_model_package
    )
    backend.create_model_package = _counting_on(  # type: ignore[method-assign] # see above
        backend.create_model_package
    )
    backend.describe_model_package = _described  # type: ignore[method-assign] # see above
    response.delete_model_package = _delete_model_package  # type: ignore[attr-defined] # it has none
    response.delete_model_package_group = _delete_group  # type: ignore[attr-defined] # the same


def _keeping_metadata(original: Any) -> Any:  # noqa: ANN401 - a method of many arguments, passed on
    """An approval leaves the metadata as they are; moto drops what the request does not repeat."""

    @functools.wraps(original)
    def update_model_package(
        self: SageMakerModelBackend,
        model_package_arn: str,
        model_approval_status: str | None,
        approval_description: str | None,
        customer_metadata_properties: dict[str, str] | None,
        *others: Any,  # noqa: ANN401 - passed on
        **named: Any,  # noqa: ANN401 - passed on
    ) -> str:
        package = self.describe_model_package(model_package_arn)
        former = package.customer_metadata_properties or {}
        return str(
            original(
                self,
                model_package_arn,
                model_approval_status or package.model_approval_status,
                approval_description or package.approval_description,
                {**former, **(customer_metadata_properties or {})},
                *others,
                **named,
            )
        )

    return update_model_package


def _counting_on(original: Any) -> Any:  # noqa: ANN401 - a method of many arguments, passed on
    """A deleted version's number is not given again; moto counts the versions that are left.

    Nor is one given twice, to executions that register at the same time.
    """
    last_versions: WeakKeyDictionary[ModelPackageGroup, int] = WeakKeyDictionary()
    lock = threading.Lock()

    @functools.wraps(original)
    def create_model_package(self: SageMakerModelBackend, **named: Any) -> str:  # noqa: ANN401 - passed on
        with lock:
            return create(self, named)

    def create(self: SageMakerModelBackend, named: dict[str, Any]) -> str:
        former = dict(self.model_packages)
        arn = str(original(self, **named))
        name = named.get("model_package_group_name")
        if name is None:
            return arn
        group = self.model_package_groups[name]
        version = last_versions[group] = last_versions.get(group, 0) + 1
        package = self.model_packages.pop(arn)
        if arn in former:  # moto has put the new version into the place of another
            self.model_packages[arn] = former[arn]
        package.model_package_version = version
        package.arn = f"{arn.rpartition('/')[0]}/{version}"
        self.model_packages[package.arn] = package
        self.model_package_name_mapping[package.arn] = package.arn
        return package.arn

    return create_model_package


def _delete_model_package(self: SageMakerResponse) -> ActionResult:
    """DeleteModelPackage, which moto lacks."""
    backend: SageMakerModelBackend = self.sagemaker_backend
    package = _described(backend, self._get_param("ModelPackageName"))
    del backend.model_packages[package.arn]
    backend.model_package_name_mapping.pop(package.arn, None)
    return EmptyResult()


def _described(self: SageMakerModelBackend, model_package_name: str) -> ModelPackage:
    """Find a package by its ARN, or by its name where it is in no group."""
    arn = self.model_package_name_mapping.get(model_package_name, model_package_name)
    if arn not in self.model_packages:
        raise ValidationError(
            f"Model package {model_package_name} does not exist. list-model-packages says which "
            "there are."
        )
    return self.model_packages[arn]


def _delete_group(self: SageMakerResponse) -> ActionResult:
    """DeleteModelPackageGroup, which moto lacks."""
    backend: SageMakerModelBackend = self.sagemaker_backend
    delete_group(backend, self._get_param("ModelPackageGroupName"))
    return EmptyResult()


def delete_group(backend: SageMakerModelBackend, name: str) -> None:
    """Delete a model package group.

    Args:
        backend: moto's.
        name: of the group, or its ARN.

    Raises:
        ValidationError: there is none.
        ConflictException: it has versions.
    """
    name = name.rpartition("/")[2]
    if name not in backend.model_package_groups:
        raise ValidationError(f"Model package group {name} does not exist.")
    packages = backend.model_packages.values()
    versions = [one.arn for one in packages if one.model_package_group_name == name]
    if versions:
        raise ConflictException(
            f"Model package group {name} holds {len(versions)} model package(s): "
            f"{', '.join(versions)}. Delete them first."
        )
    del backend.model_package_groups[name]
