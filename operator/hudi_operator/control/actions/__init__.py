"""What a step asks for, carried out: the status, Events, Jobs, and the end of a table."""
