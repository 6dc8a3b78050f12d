"""What a deployment would create, or has: the pipeline, functions' code, names, the registry."""
