"""The search for keys in every byte below a base path, and in names of files."""
