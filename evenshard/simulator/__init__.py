"""Runs a synthesized pipeline definition on simulated hosts."""
