"""`python -m gate` is the command `gate`."""

from gate.cli import main

if __name__ == "__main__":
    main(prog_name="gate")
