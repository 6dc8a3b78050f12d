"""One folder for each way of looking: units, properties, templates, real runs, docs."""
