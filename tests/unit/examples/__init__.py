"""Of examples."""
