"""What a table must be like before it is written to: that its keys are found, and are those that its rows have."""
