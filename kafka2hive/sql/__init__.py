"""Tables with SQL in the driver: check and plan the SELECT, run its job, and combine the accounts of both sides."""
