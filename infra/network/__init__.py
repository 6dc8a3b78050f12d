"""The network of the jobs: none of their own, a new VPC, or one that exists."""
