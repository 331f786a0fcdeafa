"""The control loop: one keyed queue, and one reconciler that observes, decides, writes the status and acts."""
