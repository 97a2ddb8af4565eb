"""The index in Redis: shared by many processes on many machines; one server, Sentinel, or a Cluster."""
