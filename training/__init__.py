"""What runs in the containers. Imports nothing from `infra` or `evenshard`."""
