"""What runs on the user's machine: the `evenshard` command."""
