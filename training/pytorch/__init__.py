"""The PyTorch trainer."""
