"""Which host gets which object. Standard library only, boto3 at the edge."""
