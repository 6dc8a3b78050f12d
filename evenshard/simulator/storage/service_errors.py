"""What a service refused, in words: what was asked, what it said, what to do about it.

Codes: "Error responses" of the S3 API reference, "Common errors" of Lambda's and SageMaker's.
Requests without a body in the answer (HEAD) give the bare HTTP status instead.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from botocore import exceptions as sdk

from evenshard.simulator.errors import ServiceError

NOT_FOUND: Final = frozenset({"NoSuchKey", "404"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One kind of request."""

    verb: str
    permission: str
    key_permission: str = ""
    """What it takes of the KMS key that encrypts the object."""


LIST: Final = Operation(verb="list", permission="s3:ListBucket")
DOWNLOAD: Final = Operation(
    verb="download", permission="s3:GetObject", key_permission="kms:Decrypt"
)
UPLOAD: Final = Operation(
    verb="upload", permission="s3:PutObject", key_permission="kms:GenerateDataKey"
)
DELETE: Final = Operation(verb="delete", permission="s3:DeleteObject")
CONNECT: Final = Operation(verb="open", permission="")
GET_FUNCTION: Final = Operation(verb="get the function", permission="lambda:GetFunction")
REGISTER: Final = Operation(verb="register a version in", permission="sagemaker:CreateModelPackage")

_LOG_IN: Final = (
    "Log in (aws sso login) or export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and choose the "
    "account with AWS_PROFILE."
)
_EXPIRED: Final = frozenset(
    {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"}
)
_THROTTLED: Final = frozenset(
    {
        "429",
        "503",
        "RequestLimitExceeded",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_BROKEN: Final = frozenset(
    {
        "500",
        "502",
        "504",
        "InternalError",
        "InternalFailure",
        "ServiceException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
    }
)
_UNKNOWN: Final = frozenset(
    {
        "InvalidAccessKeyId",
        "InvalidToken",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_AGAIN_LATER: Final = "Start again later, or allow more attempts with AWS_MAX_ATTEMPTS."
_REGION: Final = "Set AWS_DEFAULT_REGION to the region of the bucket."
_REACH: Final = (
    "Check the network, and AWS_ENDPOINT_URL where it is set: does anything listen there?"
)
_OWN_WORDS: Final = "The API reference of the service says what that means."

_BY_CODE: Final[Mapping[frozenset[str], str]] = {
    frozenset({"NoSuchBucket"}): (
        "Check the bucket's name, and that the credentials are of its account."
    ),
    NOT_FOUND: "It was deleted after it had been listed: start again when nobody writes there.",
    frozenset({"PreconditionFailed", "412"}): (
        "It was replaced after it had been listed: start again when nobody writes there."
    ),
    frozenset({"KMS.NotFoundException"}): (
        "Its KMS key is gone or of another region: name one that exists, as the bucket's default "
        "encryption or as the KmsKeyId of the job's outputs."
    ),
    frozenset({"KMS.DisabledException", "KMS.KMSInvalidStateException"}): (
        "Its KMS key is off: enable it (aws kms enable-key) or cancel its deletion."
    ),
    _EXPIRED: f"The credentials have expired. {_LOG_IN}",
    _UNKNOWN: f"These are no credentials of an account. {_LOG_IN}",
    frozenset({"RequestTimeTooSkewed"}): "Set this machine's clock.",
    _THROTTLED: f"Too many requests at once. {_AGAIN_LATER}",
    _BROKEN: f"The service itself failed. {_AGAIN_LATER}",
    frozenset({"PermanentRedirect", "301", "AuthorizationHeaderMalformed"}): _REGION,
    frozenset({"ResourceNotFound", "ResourceNotFoundException"}): (
        "Deploy it to this account and region, or correct its name."
    ),
    frozenset(
        {"ValidationException"}
    ): "Mend what it names: in the definition, or what is deployed.",
    frozenset({"InvalidObjectState"}): "It is archived: restore it (aws s3api restore-object).",
}
_DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "403", "AllAccessDisabled"})
_BY_TYPE: Final[tuple[tuple[tuple[type[Exception], ...], str], ...]] = (
    ((sdk.NoCredentialsError, sdk.PartialCredentialsError, sdk.NoAuthTokenError), _LOG_IN),
    (
        (sdk.SSOError, sdk.LoginError, sdk.TokenRetrievalError, sdk.CredentialRetrievalError),
        _LOG_IN,
    ),
    ((sdk.ProfileNotFound,), "Set AWS_PROFILE to one that `aws configure list-profiles` prints."),
    ((sdk.NoRegionError, sdk.InvalidRegionError), _REGION),
    (
        (sdk.IncompleteReadError, sdk.ResponseStreamingError, sdk.FlexibleChecksumError),
        f"The transfer broke off, or its bytes were wrong, every time. {_REACH}",
    ),
    ((sdk.ConnectionError, sdk.HTTPClientError), _REACH),
)


@contextmanager
def explained(operation: Operation, subject: str) -> Iterator[None]:
    """Turn what the SDK raises into a ServiceError.

    Args:
        operation: what is asked for.
        subject: of which object, prefix, function or group.

    Raises:
        ServiceError: the service refused, or cannot be reached.
    """
    try:
        yield
    except sdk.ClientError as error:
        raise ServiceError(
            f"Cannot {operation.verb} {subject}: {_answer(error, operation)}"
        ) from error
    except sdk.BotoCoreError as error:
        raise ServiceError(
            f"Cannot {operation.verb} {subject}: {_sentence(str(error))} {_by_type(error)}"
        ) from error


def code_of(error: sdk.ClientError) -> str:
    """The service's own word for what is wrong."""
    return error.response.get("Error", {}).get("Code", "")


def _answer(error: sdk.ClientError, operation: Operation) -> str:
    code = code_of(error)
    said = _sentence(f"{code}: {error.response.get('Error', {}).get('Message', '')}")
    retries = error.response.get("ResponseMetadata", {}).get("RetryAttempts", 0)
    if retries:
        said = f"{said.removesuffix('.')} ({retries + 1} attempts)."
    if code in _DENIED:
        return f"{said} {_grant(operation)}"
    advice = next((advice for codes, advice in _BY_CODE.items() if code in codes), _OWN_WORDS)
    return f"{said} {advice}"


def _grant(operation: Operation) -> str:
    key = (
        f", and {operation.key_permission} on the key that encrypts it"
        if operation.key_permission
        else ""
    )
    return f"Whose credentials these are needs {operation.permission} there{key}."


def _by_type(error: sdk.BotoCoreError) -> str:
    return next((advice for types, advice in _BY_TYPE if isinstance(error, types)), _OWN_WORDS)


def _sentence(text: str) -> str:
    return f"{text.strip().removesuffix('.').removesuffix(':')}."
