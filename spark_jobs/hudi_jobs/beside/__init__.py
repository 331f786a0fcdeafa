"""Table services beside the batches of a continuous ingestion, in the same process and under the same lease."""
