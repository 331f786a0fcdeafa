"""One module for each command; its `command` is loaded on use."""
