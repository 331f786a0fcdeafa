"""Protobuf values, by a descriptor in the request or by registry schemas named in the values.

`descriptors.py` handles sets of descriptors, `compiler.py` compiles a registry's texts to descriptors, in the process
`protoc.py`, and `indexes.py` identifies a value's message in its file. `messages.py` decodes one message with Spark,
and `decode.py` and `registered.py` decode the values of a batch.
"""
