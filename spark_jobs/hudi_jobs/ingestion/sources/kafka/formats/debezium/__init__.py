"""Debezium's change events, and the rows and deletes they stand for.

`columns.py` names the columns added to a row, `connect.py` interprets Kafka Connect's types. `json_events.py` decodes
JSON events, `images.py` extracts rows from events of any format, and `unwrap.py` keeps the rows that count.
`unavailable.py` fills in values that PostgreSQL did not send, and `rules.py` checks which tables can have such a
source. `unchanged_columns/` carries state to the next batch.
"""
