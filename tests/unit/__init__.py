"""One module at a time; the folders are those of the code."""
