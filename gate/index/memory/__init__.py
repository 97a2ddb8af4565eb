"""The index in memory of one process."""
