"""Measurements of this project against others, each run by one Makefile target."""
