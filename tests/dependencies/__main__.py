"""`scripts/dependencies hashes|vulnerabilities|bill`."""

import sys

from tests.dependencies import bill, hashes, vulnerabilities

COMMANDS = {"bill": bill.main, "hashes": hashes.main, "vulnerabilities": vulnerabilities.main}

if __name__ == "__main__":
    if sys.argv[1:] not in [[name] for name in COMMANDS]:
        sys.exit(f"usage: scripts/dependencies {'|'.join(COMMANDS)}")
    sys.exit(COMMANDS[sys.argv[1]]())
