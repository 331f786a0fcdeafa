"""What is wrong with a Hudi table, by its timeline: checks, their evidence and remedies, and a score."""
