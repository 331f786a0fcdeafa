"""The command `hudi-operator`."""
