"""The tools of the demonstrations and end-to-end tests: the cluster, the S3 server, the operator."""
