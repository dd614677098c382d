"""Opens every page of the site in Chromium, 1,400 and 400 pixels wide: scripts/build-book.sh builds it first.

An error: a message of the console, a page that is wider than the screen, a table that is cut off on the wide one, a
picture that does not load or has no text alternative, and a search that finds nothing.
"""

import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "target" / "book"
sys.path.insert(0, str(ROOT / "crates" / "soma-python" / "tests"))
import browser  # noqa: E402

WRONG = """(() => {
  const found = [];
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) found.push(`is ${wide} pixels wide on a screen of ${innerWidth}`);
  document.querySelectorAll('.md-content table').forEach(table => {
    const place = table.closest('.md-typeset__scrollwrap') || table.parentNode;
    if (innerWidth > 1000 && table.offsetWidth > place.clientWidth + 1)
      found.push(`a table is cut off: ${table.innerText.slice(0, 60)}`);
  });
  document.querySelectorAll('.md-content img').forEach(picture => {
    const source = picture.src.slice(-60);
    if (!picture.naturalWidth) found.push(`a picture does not load: ${source}`);
    if (picture.alt.length < 10) found.push(`a picture has no text alternative: ${source}`);
  });
  return found;
})()"""

SEARCH = """(field => {
  field.focus();
  field.value = 'sensitivity';
  field.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}));
})(document.querySelector('.md-search__input'))"""


def finds(page):
    """Whether the search of a page that was opened as a file finds something."""
    page.open((SITE / "index.html").as_uri())
    for _ in range(40):
        page.run(SEARCH)
        time.sleep(0.25)
        if page.run("document.querySelectorAll('.md-search-result__item').length"):
            return True
    return False


def main():
    if not browser.found():
        print("no Chromium here, so the site is not looked at: scripts/install-test-needs.sh", file=sys.stderr)
        return
    pages = sorted(page for page in SITE.rglob("*.html") if page.name != "404.html")
    if len(pages) < 40:
        sys.exit(f"{SITE}: has {len(pages)} pages only; scripts/build-book.sh builds it")
    wrong = []
    with browser.Browser() as screen:
        for width, dark in [(1400, False), (400, True)]:
            for page in pages:
                screen.open(page.as_uri(), width=width, dark=dark)
                said = screen.run(WRONG) + [f"the console: {one}" for one in screen.errors()]
                wrong += [f"{page.relative_to(SITE)}, {width} pixels: {one}" for one in said]
                screen.events.clear()
        if not finds(screen):
            wrong.append("the search finds nothing for 'sensitivity'")
    print("\n".join(wrong) or f"looked at {len(pages)} pages: nothing wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
