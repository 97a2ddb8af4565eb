"""The files of the page, read once when the service starts: they are small, and none can be named that is not there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

INDEX = "index.html"
FOLDER = "/page/"  # below it are all files but INDEX, which is at /
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/vnd.microsoft.icon",
}


class PageFile(NamedTuple):
    """A file of the page. `etag` changes with its bytes."""

    body: bytes
    media_type: str
    etag: str


def read_page() -> dict[str, PageFile]:
    """The files of the page by the path that they are served at."""
    pages = {}
    for name, file in _files_below(files(__package__).joinpath("page")):
        media_type = MEDIA_TYPES.get(name[name.rfind(".") :])
        if media_type is not None:
            body = file.read_bytes()
            path = "/" if name == INDEX else f"{FOLDER}{name}"
            pages[path] = PageFile(body, media_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
    return pages


def _files_below(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files_below(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry
