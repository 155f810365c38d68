"""Roll forward what earlier runs left, and carry out the repairs that an operator asks for."""
