"""State that change events keep for the next batch: in the checkpoint, and in files it names."""
