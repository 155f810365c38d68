"""What all commands share with the terminal: options, exit codes, the screen, the envelope of JSON documents."""
