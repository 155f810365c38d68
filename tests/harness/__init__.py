"""What tests of several folders use: the program as a process, a service map, a ledger by the CLI, fakes, a NameNode proxy."""
