"""A timeline as it is shown: a document for programs, text for people."""
