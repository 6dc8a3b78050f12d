"""What runs inside a built image."""
