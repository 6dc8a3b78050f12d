"""The data layer against other loaders: `make bench-records`."""
