"""Where rows come from as the request says it, and how far they have been read."""
