"""Makes the files of a release."""
