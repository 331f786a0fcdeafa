"""kopf wiring: watch events come in, keys go out. kopf is the informer and nothing more.

It keeps no annotation, no finalizer and no state in any object; what it misses, the resync finds.
"""
