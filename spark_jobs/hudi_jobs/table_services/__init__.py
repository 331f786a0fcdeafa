"""The work of each table service: one module each, on top of Hudi's write client, plans and timeline."""
