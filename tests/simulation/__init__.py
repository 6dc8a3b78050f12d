"""Trainers, launcher and pipelines as real processes on simulated hosts."""
