"""Values in Avro, each with the id of its schema in a registry.

`schemas.py` is about the texts of schemas alone, `decode.py` about the messages of a batch.
"""
