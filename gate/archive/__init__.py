"""Archives as documents: what is in them, in a stable order, and how far they have been read."""
