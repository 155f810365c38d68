"""What every file format promises, and what several of them use."""
