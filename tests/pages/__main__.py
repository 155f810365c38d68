"""Write every generated part again: `scripts/pages`."""

from tests.pages.parts import PAGES, current

if __name__ == "__main__":
    for page in PAGES:
        page.write_text(current(page))
