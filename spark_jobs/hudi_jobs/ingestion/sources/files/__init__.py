"""Files below a prefix: every version of every file is read exactly once, whenever it appears."""
