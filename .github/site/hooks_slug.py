"""Anchors of headings as GitHub makes them, since the pages are read there too."""

from __future__ import annotations

import re


def slug(text: str, separator: str) -> str:
    """Lower case, without punctuation, spaces as the separator, none of them merged."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)
