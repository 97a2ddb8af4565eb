"""The pure core: what decides takes values and returns values, and touches nothing else."""
