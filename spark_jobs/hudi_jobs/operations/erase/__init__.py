"""Erases rows, and proves by a search that none of their record keys remains below the table."""
