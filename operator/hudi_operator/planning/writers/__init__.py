"""Whose work is whose: other writers, their instants, takeover."""
