"""Other loaders, each tuned as its documentation advises; a module imports what it measures."""
