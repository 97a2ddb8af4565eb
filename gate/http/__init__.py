"""What the gate answers over HTTP."""
