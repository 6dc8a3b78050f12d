"""The pipeline as a document: what may stand in it, its parameters, expressions and order."""
