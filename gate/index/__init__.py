"""The index: what a backend must supply (`store`), the backends, and the claim that is built on them once."""
