"""The files of a table: names, folders, times, and reads within bounds."""
