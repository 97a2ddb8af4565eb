"""The index: what a backend must supply (`store`), the backends, and the claim protocol over any of them."""
