"""Kerberos for clients in Python: MIT's GSSAPI library, SASL on top of it, and the meaning of its error codes."""
