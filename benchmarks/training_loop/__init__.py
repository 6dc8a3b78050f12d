"""The PyTorch trainer's loop against a bare one, and on more and more ranks."""
