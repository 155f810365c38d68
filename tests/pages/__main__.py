"""Write every derived file again: `scripts/pages`. Nothing is written if one of them breaks a promise."""

import sys

from tests.pages.frozen_documents import PromiseBroken
from tests.pages.parts import ROOT, derived_files

if __name__ == "__main__":
    try:
        texts = {file: text() for file, text in derived_files().items()}
    except PromiseBroken as error:
        sys.exit(str(error))
    for file, text in texts.items():
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
            sys.stdout.write(f"written: {file.relative_to(ROOT)}\n")
