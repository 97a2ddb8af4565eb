"""Write the pages of the reference: `make reference`."""

from docs.generate.pages import FOLDER, PAGES

for name, page in PAGES.items():
    (FOLDER / name).write_text(page(), encoding="utf-8")
