"""`plan`: what resources in files would do, from the files alone."""
