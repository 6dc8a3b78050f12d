"""The SageMaker pipeline: its parameters, its steps and the check of its definition."""
