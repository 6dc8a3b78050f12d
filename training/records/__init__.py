"""A host's shards as batches for its ranks. numpy and pyarrow only."""
