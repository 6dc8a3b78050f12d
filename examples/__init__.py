"""The usual example of sharded training, for each framework, written so that it works."""
