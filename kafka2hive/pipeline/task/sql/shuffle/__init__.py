"""Rows that go to the task of their bucket (`shuffle: bucket`): sent behind the SELECT, received where they are written."""
