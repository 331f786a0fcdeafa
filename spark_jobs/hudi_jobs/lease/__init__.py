"""Who works on a table: leases in the table's own folder, and the fence that ends a run which has lost one."""
