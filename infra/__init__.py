"""What `cdk deploy` creates."""
