"""Text out of files: one module for each format, run in limited child processes.

`formats` recognises a file by its content and names the module; `pool` runs the modules, so that a hostile file costs
one rejected document and never the run.
"""
