"""Each way in which a service can fail, in words that say what to do."""

import pytest
from botocore import exceptions as sdk

from evenshard.simulator.errors import ServiceError
from evenshard.simulator.storage.s3_objects import open_s3
from evenshard.simulator.storage.service_errors import (
    DELETE,
    DOWNLOAD,
    LIST,
    REGISTER,
    UPLOAD,
    Operation,
    explained,
)

URI = "s3://bucket/key"


def words_for(error: Exception, operation: Operation = DOWNLOAD) -> str:
    with pytest.raises(ServiceError) as refusal, explained(operation, URI):
        raise error
    assert refusal.value.__cause__ is error
    return str(refusal.value)


def answer(code: str, message: str = "Words.", *, retries: int = 0) -> sdk.ClientError:
    metadata = {"RetryAttempts": retries, "HTTPStatusCode": 400}
    return sdk.ClientError(
        {"Error": {"Code": code, "Message": message}, "ResponseMetadata": metadata},  # type: ignore[typeddict-item] # as much as is read
        "GetObject",
    )


@pytest.mark.parametrize(
    ("operation", "asked", "needs"),
    [
        (LIST, "list", "needs s3:ListBucket there."),
        (DOWNLOAD, "download", "needs s3:GetObject there, and kms:Decrypt on the key that"),
        (UPLOAD, "upload", "needs s3:PutObject there, and kms:GenerateDataKey on the key that"),
        (DELETE, "delete", "needs s3:DeleteObject there."),
        (REGISTER, "register a version in", "needs sagemaker:CreateModelPackage there."),
    ],
)
def test_a_denial_names_the_permission(operation: Operation, asked: str, needs: str) -> None:
    words = words_for(answer("AccessDenied", "Access Denied"), operation)
    assert words.startswith(f"Cannot {asked} {URI}: AccessDenied: Access Denied. Whose credentials")
    assert needs in words


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("NoSuchKey", "deleted after it had been listed"),
        ("PreconditionFailed", "replaced after it had been listed"),
        ("NoSuchBucket", "Check the bucket's name"),
        ("KMS.NotFoundException", "Its KMS key is gone or of another region"),
        ("KMS.DisabledException", "enable it (aws kms enable-key)"),
        ("ExpiredToken", "The credentials have expired. Log in (aws sso login)"),
        ("InvalidAccessKeyId", "These are no credentials of an account. Log in"),
        ("SlowDown", "Too many requests at once. Start again later, or allow more attempts"),
        ("ThrottlingException", "Too many requests at once."),
        ("TooManyRequestsException", "Too many requests at once."),
        ("InternalError", "The service itself failed. Start again later"),
        ("PermanentRedirect", "Set AWS_DEFAULT_REGION to the region of the bucket"),
        ("RequestTimeTooSkewed", "Set this machine's clock"),
        ("ResourceNotFoundException", "Deploy it to this account and region"),
        ("ValidationException", "Mend what it names"),
        ("InternalFailure", "The service itself failed."),
        ("NeverHeardOf", "says what that means"),
    ],
)
def test_every_answer_says_what_to_do(code: str, advice: str) -> None:
    words = words_for(answer(code, "Words."))
    assert words.startswith(f"Cannot download {URI}: {code}: Words. ")
    assert advice in words


def test_attempts_are_counted() -> None:
    words = words_for(answer("SlowDown", "Please reduce your request rate.", retries=4))
    assert "SlowDown: Please reduce your request rate (5 attempts). Too many" in words


def test_an_answer_without_words_has_no_empty_ones() -> None:
    assert words_for(answer("404", "")).startswith(f"Cannot download {URI}: 404. It was deleted")


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (
            sdk.NoCredentialsError(),
            "Unable to locate credentials. Log in (aws sso login) or",
        ),
        (sdk.UnauthorizedSSOTokenError(), "Log in (aws sso login)"),
        (sdk.NoRegionError(), "You must specify a region. Set AWS_DEFAULT_REGION"),
        (sdk.EndpointConnectionError(endpoint_url="http://127.0.0.1:9"), "does anything listen"),
        (sdk.ReadTimeoutError(endpoint_url="http://127.0.0.1:9"), "does anything listen there?"),
        (sdk.IncompleteReadError(actual_bytes=1, expected_bytes=2), "The transfer broke off"),
        (sdk.ParamValidationError(report="x"), "says what that means"),
    ],
)
def test_what_never_reached_the_service_says_what_to_do(error: Exception, advice: str) -> None:
    words = words_for(error)
    assert words.startswith(f"Cannot download {URI}: ")
    assert advice in words


def test_other_errors_are_left_as_they_are() -> None:
    with pytest.raises(OSError, match="disk"), explained(DOWNLOAD, URI):
        raise OSError("disk")


def test_settings_that_make_no_sense_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(ServiceError, match=r"nobody\) could not be found. Set AWS_PROFILE to one"):
        open_s3()
    monkeypatch.delenv("AWS_PROFILE")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "127.0.0.1:5005")
    with pytest.raises(ServiceError, match="Write AWS_ENDPOINT_URL as http://"):
        open_s3()
