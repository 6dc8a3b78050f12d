"""The PyTorch loop over lines of text."""
