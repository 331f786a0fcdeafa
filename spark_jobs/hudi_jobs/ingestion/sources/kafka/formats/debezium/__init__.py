"""Change events of Debezium: what they hold, and the rows and deletes that they stand for.

`columns.py` names what is added to a row, `connect.py` what Kafka Connect says of types. `json_events.py` decodes
events in JSON, `images.py` makes rows of events in any format, and `unwrap.py` leaves the rows that count.
`unavailable.py` fills in values that PostgreSQL did not send, and `rules.py` says which tables can have such a source.
`kept/` is what events leave for the next batch.
"""
