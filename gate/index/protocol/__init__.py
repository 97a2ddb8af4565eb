"""The claim protocol over any store: claims, the order of a batch, candidates, postings and deletions."""
