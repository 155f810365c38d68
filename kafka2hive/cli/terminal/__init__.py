"""The parts that all commands share: options, exit codes, the screen and the envelope of JSON documents."""
