"""Rolling forward what earlier runs left, and the repairs an operator asks for."""
