"""Tools around an index on any backend: audit, repair, export and import."""
