"""Files that no instant accounts for: what is there, what is known of them, and their removal after a copy."""
