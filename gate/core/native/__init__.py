"""The hot loops of signing in C (kernel.c), where they were compiled; numpy does the same bit for bit where not.

`loader.active()` is what the functions of the core ask: the kernel, or None. GATE_KERNEL=none in the environment says
numpy, and GATE_KERNEL=required makes a missing kernel an error instead of a slower gate.
"""
