"""Runs controllers: informer, resync, queue and leadership. Independent of tables."""
