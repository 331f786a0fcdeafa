"""From a table's spec to the Job that works on it: pure builders, values in and documents out."""
