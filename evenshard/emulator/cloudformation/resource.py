"""What the resource types that we add to moto have in common."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from moto.cloudformation.exceptions import ValidationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a resource is deployed."""

    account: str
    region: str


class Deployed:
    """A resource that is made by calling a service's moto backend.

    A type is a class that derives from this one and then from moto's CloudFormationModel, which
    finds types by asking for its direct subclasses.
    """

    TYPE: ClassVar[str]
    NAME_PROPERTY: ClassVar[str] = ""
    """The property that names the resource; empty where none does."""
    PROPERTIES: ClassVar[frozenset[str]]
    """All that is made of the template's properties; another one is refused."""
    ATTRIBUTES: ClassVar[frozenset[str]] = frozenset()
    """What Fn::GetAtt may ask for: attributes of the object."""

    def __init__(self, name: str, properties: Mapping[str, Any], place: Place) -> None:
        """Take what the template says.

        Args:
            name: as the template gives it, else one that CloudFormation made up.
            properties: with all intrinsic functions resolved.
            place: where to deploy.
        """
        self.name = name
        self.properties = properties
        self.place = place
        self.type = self.TYPE
        self.physical_resource_id = name
        """What Ref gives."""

    @abstractmethod
    def create(self) -> None:
        """Make it."""

    def update(self, former: Self) -> None:
        """Make it what the template says now; by default as CloudFormation replaces a resource."""
        former.remove()
        self.create()

    @abstractmethod
    def remove(self) -> None:
        """Delete it."""

    @classmethod
    def cloudformation_type(cls) -> str:
        """Tell moto the type's name."""
        return cls.TYPE

    @classmethod
    def cloudformation_name_type(cls) -> str:
        """Tell moto which property names the resource."""
        return cls.NAME_PROPERTY

    @classmethod
    def has_cfn_attr(cls, attr: str) -> bool:
        """Tell moto whether Fn::GetAtt knows an attribute."""
        return attr in cls.ATTRIBUTES

    def get_cfn_attribute(self, attribute_name: str) -> str:
        """Answer Fn::GetAtt."""
        return str(getattr(self, attribute_name))

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: Mapping[str, Any],
        account_id: str,
        region_name: str,
        **_: object,
    ) -> Self:
        """Create a resource for moto."""
        cls._check(cloudformation_json["Properties"])
        place = Place(account=account_id, region=region_name)
        made = cls(resource_name, cloudformation_json["Properties"], place)
        made.create()
        return made

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: Self,
        new_resource_name: str,
        cloudformation_json: Mapping[str, Any],
        account_id: str,
        region_name: str,
    ) -> Self:
        """Update a resource for moto. One without a name in the template keeps the one it has."""
        properties = cloudformation_json["Properties"]
        cls._check(properties)
        is_named = cls.NAME_PROPERTY in properties
        name = new_resource_name if is_named else original_resource.name
        changed = cls(name, properties, Place(account=account_id, region=region_name))
        changed.physical_resource_id = original_resource.physical_resource_id
        changed.update(original_resource)
        return changed

    @classmethod
    def _check(cls, properties: Mapping[str, Any]) -> None:
        """Raise ValidationError for what would be dropped silently."""
        unknown = sorted(properties.keys() - cls.PROPERTIES)
        if unknown:
            problem = (
                f"The emulator's {cls.TYPE} has no {', '.join(unknown)}. Add it to "
                "evenshard/emulator/cloudformation, or deploy without it."
            )
            raise ValidationError(message=problem)

    def delete(self, account_id: str, region_name: str) -> None:
        """Delete a resource for moto, which repeats what this object knows."""
        del account_id, region_name
        self.remove()

    def is_created(self) -> bool:
        """Tell moto that nothing takes time here."""
        return True
