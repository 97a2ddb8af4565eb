"""The HTTP endpoints of the gate: health and metrics."""
