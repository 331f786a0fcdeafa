"""Text of JSON as values of declared columns: each exactly, or a fault; Spark's own reader guesses."""
