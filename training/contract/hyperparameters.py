"""What the trainers understand: the names, kinds, limits and defaults of their hyperparameters."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, get_args, get_type_hints

from training.contract.bounds import Form, Only, Range
from training.contract.layout import PYTORCH, TENSORFLOW
from training.contract.parsing import HyperparameterError, parse

PROGRAM: Final = "program"
"""The launcher's own hyperparameter: a script to run in place of the trainer."""
LAUNCHING: Final = frozenset(("stop_wait_s", "collective_timeout_s"))
"""Of the trainers' hyperparameters, those that the launcher reads itself, for scripts too."""
DATA_FORMAT: Final = "data_format"
"""The hyperparameter that names the shards' format, whatever they are called."""
TASK: Final = "task"
"""The hyperparameter that chooses what is trained."""
TEXT_TASK: Final = "text"
IMAGE_TASK: Final = "image"


_TASK_FORM: Final = Form(
    pattern=rf"{TEXT_TASK}|{IMAGE_TASK}|[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*",
    words=f"{TEXT_TASK}, {IMAGE_TASK} or a class of your own as module:Class",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingHyperparameters:
    """What the trainers understand. Any other name is refused, and one for another trainer too."""

    epochs: Annotated[int, Range(minimum=1, maximum=2**31 - 1)] = 3
    """Passes over the training records."""
    batch_size: Annotated[int, Range(minimum=1, maximum=2**31 - 1)] = 32
    """Records per rank and step."""
    learning_rate: Annotated[float, Range(above=0)] = 0.005
    """AdamW's step size; with a schedule, the largest."""
    seed: Annotated[int, Range(minimum=0, maximum=2**63 - 1)] = 0
    """Of the initial weights and of the order of the records."""
    task: Annotated[str, _TASK_FORM, Only(PYTORCH)] = TEXT_TASK
    """What is trained: text (two classes, JSON Lines or Parquet), image (PNG files in tar shards),
    or a class of your own as module:Class (docs/bring-your-own-model.md)."""
    data_format: Literal["auto", "json_lines", "parquet", "csv", "tar", "lines"] = "auto"
    """Of the shards of all channels and of the test set; auto: by the endings of their names."""
    uneven: Literal["weight", "drop"] = "weight"
    """What ranks with unequal numbers of records do. weight: all step until no rank has records
    left, each record counts alike. drop: all stop as soon as one has no full batch left."""
    dtype: Literal["float32", "float64"] = "float32"
    """Of weights and gradients; float64 is for comparing runs digit by digit."""
    mixed_precision: Literal["off", "bf16", "fp16", "auto"] = "off"
    """What models compute in, weights aside. auto: bf16 on GPUs that have it, fp16 on others, off
    on processors. fp16 scales losses so that small gradients do not vanish."""
    tf32: bool = False
    """Whether GPUs may multiply float32 matrices with 10 of 23 bits."""
    parallelism: Annotated[Literal["ddp", "fsdp"], Only(PYTORCH)] = "ddp"
    """ddp: every rank holds the whole model. fsdp: its shard of the weights, gradients and
    optimizer, for models that are too large; more communication."""
    compile: bool = False
    """Whether torch.compile or XLA makes kernels for the model, which takes a while at first."""
    gradient_accumulation_steps: Annotated[int, Range(minimum=1, maximum=2**20)] = 1
    """Batches of each rank that make one optimizer update, as if they were one batch."""
    max_grad_norm: Annotated[float, Range(minimum=0)] = 0.0
    """Gradients whose norm, over all weights, is greater are scaled down to it; 0: never. The norm
    is that of the exact gradient, of all ranks together."""
    schedule: Literal["constant", "cosine"] = "constant"
    """Of the learning rate after the warm-up; cosine: down to 0 at the end of the last epoch."""
    warmup_steps: Annotated[int, Range(minimum=0, maximum=2**31 - 1)] = 0
    """Updates on which the learning rate grows to its largest."""
    log_every_steps: Annotated[int, Range(minimum=0, maximum=2**31 - 1)] = 100
    """Updates of an epoch between two lines with loss, records per second and the share of time
    spent waiting for data; 0: none."""
    architecture: Annotated[Literal["bag", "transformer"], Only(PYTORCH)] = "bag"
    """Of the task text. bag: a text's n-grams, in no order; transformer: its words, in order."""
    hash_buckets: Annotated[int, Range(minimum=1, maximum=2**24), Only(PYTORCH)] = 2**16
    """Rows of the embedding table that n-grams, or words, are hashed into."""
    vocabulary_size: Annotated[int, Range(minimum=3, maximum=2**24), Only(TENSORFLOW)] = 20_000
    """Rows of the embedding table: the most frequent n-grams of all hosts' records, one row for
    all others and one for padding."""
    sequence_length: Annotated[int, Range(minimum=1, maximum=2**16), Only(TENSORFLOW)] = 1024
    """N-grams of a text that count: first its words, then their longer runs."""
    ngrams: Annotated[int, Range(minimum=1, maximum=5)] = 2
    """The longest run of words that is a feature of its own; bag only."""
    embedding_dim: Annotated[int, Range(minimum=1, maximum=4096)] = 32
    """Numbers per row of the embedding table."""
    hidden_dim: Annotated[int, Range(minimum=1, maximum=4096)] = 32
    """Units of the hidden layer; of the transformer, in each layer."""
    layers: Annotated[int, Range(minimum=1, maximum=256), Only(PYTORCH)] = 2
    """Of the transformer."""
    attention_heads: Annotated[int, Range(minimum=1, maximum=256), Only(PYTORCH)] = 4
    """Of each of the transformer's layers; they divide embedding_dim."""
    max_words: Annotated[int, Range(minimum=1, maximum=2**16), Only(PYTORCH)] = 256
    """Words that the transformer reads of a text, from its start."""
    classes: Annotated[int, Range(minimum=2, maximum=2**14), Only(PYTORCH)] = 10
    """Of the task image, numbered from 0."""
    image_size: Annotated[int, Range(minimum=4, maximum=4096), Only(PYTORCH)] = 32
    """Pixels per side that images are brought to."""
    image_colors: Annotated[Literal["grey", "rgb"], Only(PYTORCH)] = "rgb"
    """What images are converted to."""
    checkpoint_every_s: Annotated[float, Range(above=0)] = 300.0
    """Seconds between two checkpoints; one more is written after every epoch."""
    keep_checkpoints: Annotated[int, Range(minimum=1, maximum=10_000)] = 3
    """Newest checkpoints to keep. Fewer than 2: a job that ends while its only one is on its way to
    S3 begins anew."""
    stop_wait_s: Annotated[float, Range(minimum=0, maximum=3600)] = 100.0
    """Seconds that a host whose ranks stopped because another host was told to waits to be told
    itself, before it counts as failed."""
    collective_timeout_s: Annotated[float, Range(minimum=1, maximum=86_400)] = 600.0
    """Seconds that a rank waits for the others before the job fails."""

    @property
    def course(self) -> dict[str, Any]:
        """The values that weights and order of records depend on, by name."""
        values = dataclasses.asdict(self)
        return {name: value for name, value in values.items() if name not in _NO_COURSE}

    @property
    def chosen_format(self) -> str | None:
        """The format of the shards; None: by the endings of their names."""
        return None if self.data_format == "auto" else self.data_format


_NO_COURSE: Final = frozenset(
    (
        "epochs",
        "checkpoint_every_s",
        "keep_checkpoints",
        "stop_wait_s",
        "collective_timeout_s",
        "compile",
        "log_every_steps",
    )
)
"""Hyperparameters that a training may go on with other values of."""


def bounds_of(name: str) -> Range:
    """The numbers that one of the trainers' hyperparameters may take."""
    hint = get_type_hints(TrainingHyperparameters, include_extras=True)[name]
    return next((extra for extra in get_args(hint) if isinstance(extra, Range)), Range())


def parse_training(values: Mapping[str, str]) -> TrainingHyperparameters:
    """Parse the trainers' hyperparameters; the launcher's own is left out.

    Raises:
        HyperparameterError: as `parse` does.
    """
    own = {name: value for name, value in values.items() if name != PROGRAM}
    return parse(TrainingHyperparameters, own)


def parse_launching(values: Mapping[str, str]) -> TrainingHyperparameters:
    """Parse what the launcher reads where a script of the user's runs; all else is the script's.

    Raises:
        HyperparameterError: as `parse` does.
    """
    return parse(
        TrainingHyperparameters,
        {name: value for name, value in values.items() if name in LAUNCHING},
    )


def check_used(names: Iterable[str], framework: str) -> None:
    """Refuse hyperparameters that a trainer would ignore.

    Args:
        names: of hyperparameters; the launcher's own are nobody's.
        framework: whose trainer is to read them.

    Raises:
        HyperparameterError: one is another framework's alone.
    """
    for name in names:
        user = user_of(name)
        if user not in (None, framework):
            raise HyperparameterError(
                f"Hyperparameter {name} is the {user} trainer's: the {framework} trainer has no "
                "use for it. Remove it."
            )


def user_of(name: str) -> str | None:
    """The framework whose trainer alone uses a hyperparameter; None: all do, or none does."""
    hint = get_type_hints(TrainingHyperparameters, include_extras=True).get(name)
    return next((extra.framework for extra in get_args(hint) if isinstance(extra, Only)), None)
