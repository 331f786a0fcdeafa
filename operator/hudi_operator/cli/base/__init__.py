"""Parts of the command line that commands share."""
