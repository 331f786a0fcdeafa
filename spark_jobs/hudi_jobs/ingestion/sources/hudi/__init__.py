"""Another Hudi table as a source, read commit by commit."""
