"""Avro values, each with its schema's id in a registry.

`schemas.py` handles schema texts, `decode.py` a batch's messages.
"""
