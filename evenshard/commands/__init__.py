"""One file per command, and what several have in common: `options`, `numbers`."""
