"""What a run found, for people: kept on disk while it goes on, then counted, listed and shown."""
