"""What each command is called, takes and says in its help. Nothing here imports the work of a command."""
