"""Of evenshard.images, and of the locks that the images install."""
