"""The step types, one module each: arguments in, properties out, a StepFailedError if it fails."""
