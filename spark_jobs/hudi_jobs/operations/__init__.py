"""The one-time operations of a `HudiOperation`: checked first, recorded before any change, and verified afterwards."""
