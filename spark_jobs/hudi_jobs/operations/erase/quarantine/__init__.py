"""Records of a quarantine that have a key which is erased."""
