"""Kerberos for our own clients: MIT's GSSAPI library, SASL over it, and what its error codes mean."""
