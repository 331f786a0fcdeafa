"""What each kind of operation asks for: one module for each."""
