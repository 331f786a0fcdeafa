"""What became of runs: how they ended, what failed, and what is remembered of it."""
