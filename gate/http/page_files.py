"""The files of the page, read once when the service starts: they are small, and none can be named that is not there."""

from __future__ import annotations

import hashlib
from importlib.resources import files
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
    for file in files(__package__).joinpath("page").iterdir():
        dot = file.name.rfind(".")
        media_type = MEDIA_TYPES.get(file.name[dot:])
        if media_type is not None and file.is_file():
            body = file.read_bytes()
            path = "/" if file.name == INDEX else f"{FOLDER}{file.name}"
            pages[path] = PageFile(body, media_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
    return pages
