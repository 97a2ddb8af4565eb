"""Kafka and JSON Lines: where check-ins come from and verdicts go to. No document is judged here."""
