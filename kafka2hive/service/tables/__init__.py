"""What every use case needs: adapters, tables, their ledgers, who owns them, Hive's registrar."""
