"""Tells who wrote what: other writers, their instants, takeover."""
