"""Every role may do exactly what its work needs: no more, no less."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.synth import access_facts, granted_access, required_access
from tests.synth.access_mutations import mutations
from tests.synth.conftest import Assembly
from tests.synth.granted_access import Grant, Templates, grants, resolved_templates, roles
from tests.synth.required_access import required
from tests.synth.variants import settings_with, synthesized

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def templates(prod_assembly: Assembly) -> Templates:
    """Of prod, which has every role that there is."""
    return resolved_templates(prod_assembly)


def lines(found: set[Grant]) -> str:
    return "\n".join(
        f"  {one.role} {one.action} {one.resource} {one.condition}" for one in sorted(found)
    )


def assert_exact(templates: Templates) -> None:
    """Compare both sides as sets."""
    granted, needed = set(grants(roles(templates))), required(templates)
    assert needed - granted == set(), f"missing:\n{lines(needed - granted)}"
    assert granted - needed == set(), f"nobody needs:\n{lines(granted - needed)}"


def test_roles_may_do_what_is_needed_and_nothing_else(templates: Templates) -> None:
    assert_exact(templates)


def test_so_in_dev(assembly: Assembly) -> None:
    assert_exact(resolved_templates(assembly))


def test_so_where_training_hosts_have_volumes(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    instances = {
        "training.allowed_instance_types": ("ml.c7i.4xlarge", "ml.m7i.4xlarge"),
        "training.instance_type": "ml.c7i.4xlarge",
        "evaluation.allowed_instance_types": ("ml.g5.xlarge",),
        "evaluation.instance_type": "ml.g5.xlarge",
    }
    assembly = synthesized(settings_with(instances), tmp_path_factory.mktemp("volumes"))
    templates = resolved_templates(assembly)
    assert_exact(templates)
    lending = {one.role for one in grants(roles(templates)) if one.action == "kms:CreateGrant"}
    assert len(lending) == 2
    assert all("TrainingRole" in role for role in lending)
    key = assembly.step("Train")["OutputDataConfig"]["KmsKeyId"]
    assert assembly.step("Train")["ResourceConfig"]["VolumeKmsKeyId"] == key
    evaluation = assembly.step("Evaluate")["ProcessingResources"]["ClusterConfig"]
    assert "VolumeKmsKeyId" not in evaluation


def test_nothing_is_granted_twice(templates: Templates) -> None:
    # Else removing one of two would change nothing, and show nowhere.
    assert [one for one, count in Counter(grants(roles(templates))).items() if count > 1] == []


def test_any_single_change_of_a_role_shows(templates: Templates) -> None:
    needed = required(templates)
    unseen: list[str] = []
    count = 0
    for what, mutant in mutations(roles(templates)):
        count += 1
        try:
            if set(grants(mutant)) == needed:
                unseen.append(what)
        except ValueError:
            continue  # not a plain permission: grants() says so
    assert unseen == []
    assert count > 300
    print(f"{count} changes of {len(roles(templates))} roles, all seen")  # noqa: T201 - the figure


def test_no_action_is_named_by_a_wildcard(templates: Templates) -> None:
    assert not [one for one in grants(roles(templates)) if "*" in one.action]


def test_the_table_knows_nothing_of_the_code_it_judges() -> None:
    modules = {
        node.module or ""
        for table in (required_access, access_facts, granted_access)
        for node in ast.walk(ast.parse(Path(str(table.__file__)).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    }
    assert modules
    assert not [name for name in modules if name.startswith(("infra", "training"))]
