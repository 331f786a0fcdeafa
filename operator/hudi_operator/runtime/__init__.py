"""What any operator needs to run its controllers: informer, resync, queue and leadership. It knows no tables."""
