"""`preflight`: what must be done or known before the operator is upgraded to the version of this command."""
