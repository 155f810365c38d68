"""What the map names on this machine: keytabs, token files, Kerberos libraries. No service is asked."""
