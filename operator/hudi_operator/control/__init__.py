"""The control loop: a keyed queue, and a reconciler that observes, decides, writes the status and acts."""
