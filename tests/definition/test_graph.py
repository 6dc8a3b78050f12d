"""Order of steps: dependencies, branches, cycles."""

import copy

from infra.pipeline.validation import problems
from tests.definition.documents import MODEL, baseline
from tests.definition.edits import Json, as_text, at, get, put
from tests.definition.judged import found_in

IF_STEPS = "Steps.QualityGate.Arguments.IfSteps"
ELSE_STEPS = "Steps.QualityGate.Arguments.ElseSteps"


def test_unknown_step_in_depends_on_names_the_close_one() -> None:
    definition = baseline()
    put(definition, "Steps.Train.DependsOn", ["Preflihgt"])
    (problem,) = problems(definition)
    assert (problem.path, problem.rule) == ("Steps.Train.DependsOn[0]", "unknown-step")
    assert "'Preflight'" in problem.fix


def test_dependency_listed_twice_is_refused() -> None:
    definition = baseline()
    put(definition, "Steps.Train.DependsOn", ["Preflight", "Preflight"])
    assert found_in(definition) == [("Steps.Train.DependsOn[1]", "duplicate-dependency")]


def test_nothing_waits_for_a_fail_step() -> None:
    definition = baseline()
    put(definition, "Steps.Train.DependsOn", ["Reject"])
    assert found_in(definition) == [("Steps.Train.DependsOn[0]", "depends-on-fail")]


def test_cycle_through_reads_alone_names_its_steps() -> None:
    definition = baseline()
    digest = "Steps.Preflight.Arguments.train_data_uri"
    put(definition, digest, get("Steps.Evaluate.ProcessingJobName"))
    (problem,) = problems(definition)
    assert (problem.path, problem.rule) == ("Steps.Preflight", "cycle")
    assert "Preflight -> " in problem.wrong
    assert problem.wrong.endswith(" -> Preflight")


def test_a_step_that_reads_itself_is_a_cycle() -> None:
    definition = baseline()
    put(definition, "Steps.Train.Arguments.Environment.ARN", get("Steps.Train.TrainingJobArn"))
    assert found_in(definition) == [("Steps.Train", "cycle")]


def test_names_are_unique_between_branches() -> None:
    definition = baseline()
    at(definition, IF_STEPS).append(copy.deepcopy(at(definition, f"{ELSE_STEPS}.Reject")))
    # IfSteps come first, so the one in ElseSteps is the second.
    assert found_in(definition) == [(f"{ELSE_STEPS}[0].Name", "duplicate-step")]


def test_steps_of_one_branch_may_read_each_other() -> None:
    definition = baseline()
    note: Json = copy.deepcopy(at(definition, "Steps.Preflight")) | {"Name": "Announce"}
    note["Arguments"] = {"model": get("Steps.Register.ModelPackageArn")}
    at(definition, IF_STEPS).append(note)
    assert found_in(definition) == []


def test_a_branch_reads_what_lies_outside_of_it() -> None:
    definition = baseline()
    put(definition, f"{IF_STEPS}.Register.DependsOn", ["Train", "Preflight"])
    assert found_in(definition) == []


def test_the_other_branch_cannot_be_read() -> None:
    definition = baseline()
    put(
        definition,
        f"{ELSE_STEPS}.Reject.Arguments.ErrorMessage",
        as_text(get("Steps.Register.ModelPackageArn")),
    )
    (problem,) = problems(definition)
    assert (problem.path, problem.rule) == (f"{ELSE_STEPS}.Reject", "branch-read-from-outside")


def test_a_condition_does_not_wait_for_its_own_branch() -> None:
    definition = baseline()
    put(definition, "Steps.QualityGate.DependsOn", ["Register"])
    assert found_in(definition) == [("Steps.QualityGate", "branch-read-from-outside")]


def test_model_of_a_later_step_cannot_be_read_by_an_earlier_one() -> None:
    definition = baseline()
    put(definition, "Steps.Preflight.Arguments.model", MODEL)
    assert found_in(definition) == [("Steps.Preflight", "cycle")]
