"""The times of instants: in which zone a table's are written, and that they never go backwards."""
