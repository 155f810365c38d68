"""`python -m kafka2hive`: the same as the console script."""

from kafka2hive.cli.main import main

main()
