"""What change events leave for the next batch: in the checkpoint, and in files beside the table that it names."""
