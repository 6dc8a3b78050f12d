"""Which host gets which object, and whether a data set can feed a training job.

Standard library only; boto3 at the edge, inside the Lambda handler.
"""
