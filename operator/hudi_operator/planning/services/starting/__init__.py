"""Which due services start now, what the other services wait for, and which drivers stop for them."""
