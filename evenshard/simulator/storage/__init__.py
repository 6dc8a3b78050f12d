"""Where objects lie: folders of this machine, S3, and what stands between them and a run."""
