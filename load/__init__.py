"""Benchmarks and quality measurements: run by hand, never by the tests, and never imported by the gate."""
