"""Ends well, and writes no model."""

print("done")
