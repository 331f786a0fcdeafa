"""The specs: a table's by its owner, a class's by the platform team."""
