"""What operations did to a table: their records, the journal that stores them, and the timeline's history."""
