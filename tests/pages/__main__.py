"""Write every generated part and the dashboard again: `scripts/pages`."""

from tests.pages.parts import DASHBOARD, PAGES, current

if __name__ == "__main__":
    for page in (*PAGES, DASHBOARD):
        page.write_text(current(page))
