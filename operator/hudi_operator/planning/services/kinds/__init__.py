"""Whether each kind of work is due: one module for each."""
