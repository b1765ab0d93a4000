"""Clang's bundle of code for several targets, written without clang-offload-bundler."""

from __future__ import annotations

import struct

_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
_PAGE = 4096


def bundle(codes: dict[str, bytes]) -> bytes:
    """The bundle of code by architecture. Its first entry is the host's, which is empty."""
    entries = [("host-x86_64-unknown-linux-gnu-", b"")]
    entries += [(f"hipv4-amdgcn-amd-amdhsa--{arch}", code) for arch, code in codes.items()]
    head = len(_MAGIC) + 8 + sum(24 + len(target) for target, _ in entries)
    table, body = _MAGIC + struct.pack("<Q", len(entries)), b""
    first = -(-head // _PAGE) * _PAGE
    for target, code in entries:
        table += struct.pack("<QQQ", first + len(body), len(code), len(target)) + target.encode()
        body += code + bytes(-len(code) % _PAGE)
    return table + bytes(first - head) + body
