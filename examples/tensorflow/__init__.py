"""The Keras text classifier."""
