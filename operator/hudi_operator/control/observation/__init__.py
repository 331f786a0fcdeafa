"""Everything that a decision needs to know, gathered for one table."""
