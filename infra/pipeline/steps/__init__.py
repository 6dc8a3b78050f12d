"""One file per pipeline step, one function each."""
