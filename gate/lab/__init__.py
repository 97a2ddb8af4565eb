"""Experiments on methods and parameters over anybody's corpus, and the tuning of a profile. Nothing here serves."""
