"""The files of a table: their names, their folder, their times, and how they are read within bounds."""
