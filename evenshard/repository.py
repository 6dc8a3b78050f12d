"""Where this checkout lies: `evenshard` runs the app and the trainers that stand beside it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder that holds app.py, training/ and node_modules/."""
