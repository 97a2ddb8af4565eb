"""A near-duplicate check-in gate: is there something like this document already, and which of the two was first?"""

__version__ = "0.1.0"
