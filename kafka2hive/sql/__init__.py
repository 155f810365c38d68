"""Tables with SQL, in the driver: the SELECT is checked and planned, and both ends' accounts are put together."""
