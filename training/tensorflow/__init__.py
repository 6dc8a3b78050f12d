"""The TensorFlow trainer."""
