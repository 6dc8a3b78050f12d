"""Of the modules at the top of evenshard."""
