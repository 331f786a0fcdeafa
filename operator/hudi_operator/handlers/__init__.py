"""kopf wiring: watch events in, keys out. kopf serves as the informer only.

kopf keeps no annotation, finalizer or state in any object; the resync finds missed changes.
"""
