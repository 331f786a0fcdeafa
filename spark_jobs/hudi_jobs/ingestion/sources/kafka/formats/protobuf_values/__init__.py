"""Values in Protobuf, by a descriptor that the request holds, or by the schemas of a registry that the values name.

`descriptors.py` is about sets of descriptors alone, `compiler.py` makes them of the texts that a registry keeps, in the
process `protoc.py`, and `indexes.py` tells which message of a file a value is. `messages.py` is about what Spark makes
of one message, and `decode.py` and `registered.py` about the values of a batch.
"""
