"""Who works on a table: leases in the table's own folder, and what ends a run which has lost one."""
