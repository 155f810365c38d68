"""`kafka2hive size`: what a service costs on paper, from the costs that were measured."""
