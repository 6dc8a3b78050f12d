"""Builds the training images on this machine, from what a deployment would build: `make images`."""
