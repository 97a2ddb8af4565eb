"""Settings of the gate: read from a file, the environment and flags, checked, and with the origin of each."""

from gate.config.settings import KEYS, MAX_SECRET_BYTES, EffectiveSetting, Secret, Settings, load_settings

__all__ = ["KEYS", "MAX_SECRET_BYTES", "EffectiveSetting", "Secret", "Settings", "load_settings"]
