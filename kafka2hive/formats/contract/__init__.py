"""The interface of every file format, and code that several formats use."""
