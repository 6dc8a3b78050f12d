"""The hosts of a job: what they get, how they reach each other, what goes wrong with them."""
