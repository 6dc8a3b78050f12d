"""CDK entry point: settings -> stacks -> checks -> templates.

Works with and without the CDK command line: `npx cdk synth`, or `CDK_OUTDIR=DIR python app.py`.
Choose another environment with `-c env=NAME`.
"""

import sys

from aws_cdk import App

from infra.application import add_stacks
from infra.feature_flags import FEATURE_FLAGS
from infra.pipeline.validation import DefinitionError
from infra.settings import DEFAULT_ENVIRONMENT, SettingsError, load_settings

# Flags and the default environment are set here: one truth with and without the command line.
app = App(context={**FEATURE_FLAGS, "env": DEFAULT_ENVIRONMENT})
try:
    add_stacks(app, load_settings(app.node.get_context("env")))
except (SettingsError, DefinitionError) as error:
    sys.exit(f"{type(error).__name__}: {error}")
app.synth()
