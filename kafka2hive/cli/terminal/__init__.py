"""What all commands use of the terminal: options, exit codes, the screen and the envelope of JSON documents."""
