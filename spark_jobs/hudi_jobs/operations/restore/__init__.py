"""Going back to a commit: by a restore or a rollback, with the checkpoint that counts afterwards."""
