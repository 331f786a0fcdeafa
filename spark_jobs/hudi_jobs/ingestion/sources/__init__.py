"""Where input comes from: one module or package for each kind of source, and the registry that names them."""
