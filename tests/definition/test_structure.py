"""The keys around the arguments: top level, steps, caches, property files, experiment."""

import pytest

from infra.pipeline.validation import problems
from tests.definition.documents import baseline
from tests.definition.edits import Json, drop, get, put
from tests.definition.judged import after, found_in


def test_other_version_is_refused() -> None:
    definition = baseline() | {"Version": "2021-01-01"}
    assert [problem.rule for problem in problems(definition)] == ["definition-version"]


def test_unknown_top_level_key_names_the_close_one() -> None:
    definition = baseline() | {"Parameter": []}
    (problem,) = problems(definition)
    assert problem.path == "Parameter"
    assert "'Parameters'" in problem.fix


def test_a_definition_needs_steps() -> None:
    assert {problem.rule for problem in problems({"Version": "2020-12-01"})} == {"missing-key"}
    empty = problems({"Version": "2020-12-01", "Steps": []})
    assert [problem.rule for problem in empty] == ["no-steps"]


@pytest.mark.parametrize("key", ["Parameters", "Steps"])
def test_lists_of_objects_are_lists_of_objects(key: str) -> None:
    found = problems(baseline() | {key: "text"})
    assert (key, "wrong-type") in [(problem.path, problem.rule) for problem in found]
    found = problems(baseline() | {key: [7]})
    assert (f"{key}[0]", "wrong-type") in [(problem.path, problem.rule) for problem in found]


def test_definition_that_leaves_no_room_is_refused() -> None:
    definition = baseline()
    definition["Metadata"] = {"Note": "x" * 900_000}
    assert problems(definition) == []
    definition["Metadata"] = {"Note": "x" * 1_000_000}
    (problem,) = problems(definition)
    assert problem.rule == "definition-size"
    assert "1,000,000" in problem.wrong


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("Steps.Train.RetryPolicy", [], ("Steps.Train.RetryPolicy", "unknown-key")),
        ("Steps.Train.DependsOn", "Preflight", ("Steps.Train.DependsOn", "wrong-type")),
        ("Steps.Train.DependsOn", [1], ("Steps.Train.DependsOn[0]", "wrong-type")),
        ("Steps.Train.Description", 3, ("Steps.Train.Description", "wrong-type")),
        ("Steps.Evaluate.CacheConfig", True, ("Steps.Evaluate.CacheConfig", "wrong-type")),
        ("Steps.Evaluate.CacheConfig", {}, ("Steps.Evaluate.CacheConfig.Enabled", "missing-key")),
        (
            "Steps.Evaluate.CacheConfig",
            {"Enabled": "yes"},
            ("Steps.Evaluate.CacheConfig.Enabled", "wrong-type"),
        ),
        (
            "Steps.Evaluate.CacheConfig",
            {"Enabled": True, "ExpireAfter": "30 days"},
            ("Steps.Evaluate.CacheConfig.ExpireAfter", "cache-duration"),
        ),
        (
            "Steps.QualityGate.CacheConfig",
            {"Enabled": True},
            ("Steps.QualityGate.CacheConfig", "unknown-key"),
        ),
        (
            "Steps.Train.PropertyFiles",
            [],
            ("Steps.Train.PropertyFiles", "unknown-key"),
        ),
    ],
)
def test_step_keys_are_judged(path: str, value: Json, expected: tuple[str, str]) -> None:
    assert after(path, value) == [expected]


@pytest.mark.parametrize("duration", ["P30D", "PT12H", "P4DT12H", "p30d", "T12H"])
def test_cache_durations_of_iso_8601_pass(duration: str) -> None:
    cache = {"Enabled": True, "ExpireAfter": duration}
    assert after("Steps.Evaluate.CacheConfig", cache) == []


def test_unknown_step_type_names_the_close_one_and_says_nothing_else() -> None:
    definition = baseline()
    put(definition, "Steps.Train.Type", "Trainig")
    (problem,) = problems(definition)
    assert (problem.path, problem.rule) == ("Steps.Train.Type", "unknown-step-type")
    assert "'Training'" in problem.fix


@pytest.mark.parametrize("key", ["Name", "Type", "Arguments"])
def test_each_step_needs_name_type_and_arguments(key: str) -> None:
    definition = baseline()
    drop(definition, f"Steps.Evaluate.{key}")
    rules = [problem.rule for problem in problems(definition)]
    assert rules.count("missing-key") == 1


def test_step_names_have_a_pattern() -> None:
    definition = baseline()
    put(definition, "Steps.QualityGate.Name", "Quality gate")
    assert [problem.rule for problem in problems(definition)] == ["step-name"]


@pytest.mark.parametrize(
    ("change", "key", "rule"),
    [
        ({"OutputName": "evaluations"}, "OutputName", "unknown-output"),
        ({"Path": "x"}, "Path", "unknown-key"),
        ({"FilePath": 1}, "FilePath", "wrong-type"),
    ],
)
def test_property_files_are_judged(change: Json, key: str, rule: str) -> None:
    definition = baseline()
    definition["Steps"][2]["PropertyFiles"][0].update(change)
    found = found_in(definition)
    assert found == [(f"Steps.Evaluate.PropertyFiles[0].{key}", rule)]


def test_property_file_names_differ() -> None:
    definition = baseline()
    definition["Steps"][2]["PropertyFiles"] *= 2
    (problem,) = problems(definition)
    assert problem.path == "Steps.Evaluate.PropertyFiles[1].PropertyFileName"


def test_experiment_may_be_named_by_the_execution_or_switched_off() -> None:
    named = {
        "ExperimentName": get("Execution.PipelineName"),
        "TrialName": get("Execution.PipelineExecutionId"),
    }
    assert problems(baseline() | {"PipelineExperimentConfig": named}) == []
    assert problems(baseline() | {"PipelineExperimentConfig": None}) == []
    number = named | {"TrialName": get("Parameters.Epochs")}
    (problem,) = problems(baseline() | {"PipelineExperimentConfig": number})
    assert (problem.path, problem.rule) == ("PipelineExperimentConfig.TrialName", "expression-type")
