"""Settings of the gate: read from a file, the environment and flags, checked, and with the origin of each.

Import from the modules: `gate.config.settings` loads them, `gate.config.reference` describes them and is light.
"""
