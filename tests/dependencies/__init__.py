"""What kafka2hive runs with: licences of the pinned packages, and what is known against their versions."""
