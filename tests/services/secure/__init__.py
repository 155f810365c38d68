"""Real services as production has them: a Kerberos realm, HDFS and HiveServer2 in it, LDAP, TLS."""
