"""Experiments on methods and parameters over any corpus, and the tuning of a profile. No check-in passes here."""
