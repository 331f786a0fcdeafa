"""Converts text of JSON to values of declared columns: each exactly, or with a fault; Spark's own reader guesses."""
