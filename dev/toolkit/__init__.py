"""What the demonstration and the end-to-end tests both need: the cluster, the S3 server, the operator."""
