"""The steps of the training pipelines: one file, one function, one dictionary of the API each."""
