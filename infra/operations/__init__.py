"""What starts executions by itself, and what tells people about them."""
