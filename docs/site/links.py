"""Links of the site.

links.py SOURCE URL README writes README as SOURCE/overview.md, and rewrites links to files outside SOURCE as
links below URL.
links.py --list SOURCE URL prints llms.txt: each page of the summary with its first sentence.
links.py --check HTML fails if a relative link of a page leads to no file or no heading.
"""

import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def rewrite(source: Path, url: str, readme: Path) -> None:
    (source / "overview.md").write_text(with_links(readme.read_text(), Path(".."), url))
    for page in source.rglob("*.md"):
        if page.name != "overview.md":
            page.write_text(with_links(page.read_text(), page.parent.relative_to(source), url))


def with_links(text: str, folder: Path, url: str) -> str:
    """Text of a page in `folder` (below docs/) with its links to files of the repository below `url`."""

    def replaced(match: re.Match) -> str:
        target = match[2]
        if urlsplit(target).scheme or target.startswith("#"):
            return match[0]
        path, mark, heading = target.partition("#")
        # As seen from docs/.
        found = os.path.relpath(os.path.normpath(Path("docs") / folder / path), "docs")
        if found.startswith(".."):
            found = f"{url}/{found.removeprefix('../')}"
        else:
            found = os.path.relpath(found, folder if str(folder) != ".." else ".")
        return f"{match[1]}{found}{mark}{heading}{match[3]}"

    return LINK.sub(replaced, text)


def listed(source: Path, url: str) -> None:
    overview = (source / "overview.md").read_text()
    print(f"# rankgauge\n\n> {paragraph(overview)}")
    for line in (source / "SUMMARY.md").read_text().splitlines()[1:]:
        if line.startswith("# "):
            print(f"\n## {line[2:]}\n")
        elif page := re.match(r"\s*- \[(.*)\]\((.*)\)", line):
            text = paragraph((source / page[2]).read_text())
            print(f"- [{page[1]}]({url}/{page[2]}): {text}")


def paragraph(page: str) -> str:
    """First paragraph after the title, on one line and without links."""
    text = page.split("\n\n")[1].replace("\n", " ")
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = dict(attributes)
        if names.get("id"):
            self.ids.add(names["id"])
        if tag in ("a", "img", "link", "script"):
            link = names.get("href") or names.get("src")
            if link:
                self.links.append(link)


def check(html: Path) -> None:
    pages = {}
    for path in html.rglob("*.html"):
        pages[path] = Page()
        pages[path].feed(path.read_text())
    broken = []
    for path, page in pages.items():
        if path.name in ("print.html", "404.html", "toc.html"):
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            found = next((it for it in pages if it.resolve() == to), None)
            if not to.exists():
                broken.append(f"{path.relative_to(html)}: {link}: no such file")
            elif parts.fragment and found and unquote(parts.fragment) not in pages[found].ids:
                broken.append(f"{path.relative_to(html)}: {link}: no such heading")
    if broken:
        sys.exit("\n".join(broken))
    print(f"{len(pages)} pages, every link leads somewhere")


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        check(Path(sys.argv[2]))
    elif sys.argv[1] == "--list":
        listed(Path(sys.argv[2]), sys.argv[3])
    else:
        rewrite(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
