"""Faults in what settings say of a framework: its image, its hyperparameters."""

from typing import Final

ECR_IMAGE: Final = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1"
LONG: Final = "x" * 257
MANY: Final = "\n".join(f'pytorch.hyperparameters.n{number} = ""' for number in range(96))
NOT_IN_IMAGE: Final = "image holds these only"

FRAMEWORK_FAULTS: Final = (
    # Images
    ('pytorch.image.kind = "pull"', "pytorch.image", "'build', 'existing'"),
    ("-pytorch.image.kind", "pytorch.image", "discriminator 'kind'"),
    ("-tensorflow.image.base_image", "tensorflow.image.build.base_image", "Field required"),
    ('pytorch.image.base_image = "pytorch"', "pytorch.image.build.base_image", "match pattern"),
    (f'pytorch.image.uri = "{ECR_IMAGE}"', "pytorch.image.build.uri", "Extra inputs"),
    (
        (
            "-pytorch.image.base_image\npytorch.image.kind = 'existing'\n"
            "pytorch.image.uri = 'docker.io/library/python:3.12'"
        ),
        "pytorch.image.existing.uri",
        "match pattern",
    ),
    (
        f"pytorch.image.kind = 'existing'\npytorch.image.uri = '{ECR_IMAGE}'",
        "pytorch.image.existing.base_image",
        "Extra inputs",
    ),
    (
        (
            "images_by_digest = true\n-pytorch.image.base_image\npytorch.image.kind = 'existing'\n"
            f"pytorch.image.uri = '{ECR_IMAGE}'"
        ),
        "pytorch.image.uri",
        "images_by_digest asks for a digest. Allowed: <repository>@sha256:<64 digits>",
    ),
    # Hyperparameters
    (
        'pytorch.hyperparameters.epochs = "3"',
        "pytorch.hyperparameters",
        "epochs: set by Epochs, BatchSize, LearningRate, Seed, which are pipeline",
    ),
    (
        'tensorflow.hyperparameters.hiden_dim = "64"',
        "tensorflow.hyperparameters",
        "Did you mean hidden_dim",
    ),
    (
        'pytorch.hyperparameters.hidden_dim = "0"',
        "pytorch.hyperparameters",
        "hidden_dim is '0'. Allowed: an integer >= 1",
    ),
    (
        "pytorch.hyperparameters.hidden_dim = 64",
        "pytorch.hyperparameters.hidden_dim",
        "valid string (given: 64)",
    ),
    (f'pytorch.hyperparameters.dtype = "{LONG}"', "pytorch.hyperparameters.dtype", "at most 256"),
    (
        (
            'pytorch.hyperparameters.program = "training/launch.py"\n'
            'pytorch.hyperparameters.seed = "1"'
        ),
        "pytorch.hyperparameters",
        "seed: set by",
    ),
    (
        f'pytorch.hyperparameters.program = "training/launch.py"\n{MANY}',
        "pytorch.hyperparameters",
        "97 of them. Allowed: 96, since a job has at most 100",
    ),
    (
        'pytorch.hyperparameters.program = "training/none.py"',
        "pytorch.hyperparameters.program",
        NOT_IN_IMAGE,
    ),
    (
        'pytorch.hyperparameters.program = "app.py"',
        "pytorch.hyperparameters.program",
        NOT_IN_IMAGE,
    ),
    (
        'pytorch.hyperparameters.program = "training/../app.py"',
        "pytorch.hyperparameters.program",
        NOT_IN_IMAGE,
    ),
    ('pytorch.hyperparameters.program = ""', "pytorch.hyperparameters.program", "program is ''"),
    (
        'pytorch.hyperparameters.program = "training/tensorflow/train.py"',
        "pytorch.hyperparameters.program",
        "without the other framework's",
    ),
    (
        'pytorch.hyperparameters.program = "examples/tensorflow/train.py"',
        "pytorch.hyperparameters.program",
        "without the other framework's",
    ),
    (
        'pytorch.hyperparameters.program = "training/shards/balance.py"',
        "pytorch.hyperparameters.program",
        NOT_IN_IMAGE,
    ),
    (
        'pytorch.hyperparameters.task = "training.none:Model"',
        "pytorch.hyperparameters.task",
        "training/none.py is no file that the image holds",
    ),
    (
        'pytorch.hyperparameters.task = "numpy:ndarray"',
        "pytorch.hyperparameters.task",
        "Put the file there (training/mine.py is training.mine:Class)",
    ),
    (
        'pytorch.hyperparameters.task = "training.tensorflow.task:TextTask"',
        "pytorch.hyperparameters.task",
        "without the other framework's",
    ),
)
