"""The claim protocol over any store: who was first, in which order a batch is claimed, what is deleted and how."""
