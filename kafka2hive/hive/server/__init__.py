"""HiveServer2: the way to it, the login, sessions, and what its errors mean."""
