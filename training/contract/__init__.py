"""What SageMaker gives a container. Standard library only."""
