"""Where check-ins come from and verdicts go to. Nothing here decides anything about a document."""
