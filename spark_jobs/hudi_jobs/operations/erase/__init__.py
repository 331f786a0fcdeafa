"""Erasing rows: their record keys are nowhere below the table afterwards, which is seen by looking everywhere."""
