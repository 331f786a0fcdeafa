"""What commands print, as functions of values."""
