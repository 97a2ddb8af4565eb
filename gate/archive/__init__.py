"""Read archives of documents: find the files, read each format, and keep a journal of what has been replayed."""
