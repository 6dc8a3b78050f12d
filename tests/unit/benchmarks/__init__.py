"""Of benchmarks."""
