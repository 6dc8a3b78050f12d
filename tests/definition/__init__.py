"""The judge of definitions: a baseline, single changes of it, what is said of each."""
