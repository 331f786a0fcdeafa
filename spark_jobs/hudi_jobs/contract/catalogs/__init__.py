"""Where readers find a table by a name: a document for each kind of catalog, and what the last sync left."""
