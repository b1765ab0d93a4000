#!/usr/bin/env python3
"""Each source includes the standard headers of the names it uses, itself or through our headers.

What one standard header happens to bring along differs between libraries and their versions:
libstdc++ 12 declares std::uint32_t in places where libstdc++ 13 does not.

  std_headers.py [ROOT]    prints FILE: NAME needs <HEADER>, and exits with 1 if there is any
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

NAMES = {
    "cstdint": r"std::u?int(?:8|16|32|64|ptr)_t",
    "string": r"std::(?:string|to_string)\b",
    "string_view": r"std::string_view\b",
    "vector": r"std::vector\b",
    "array": r"std::array\b",
    "span": r"std::span\b",
    "optional": r"std::(?:optional|nullopt)\b",
    "variant": r"std::(?:variant|get_if|visit)\b",
    "memory": r"std::(?:unique_ptr|shared_ptr|make_unique|make_shared)\b",
    "functional": r"std::function\b",
    "algorithm": r"std::(?:sort|stable_sort|any_of|all_of|none_of|find_if|count_if|copy_n|fill_n"
                 r"|min_element|max_element|clamp|reverse|unique|lower_bound|upper_bound)\(",
    "numeric": r"std::(?:iota|accumulate|inner_product|gcd|lcm)\(",
    "cstring": r"std::(?:memcpy|memset|memcmp|strlen|strcmp|strerror)\b",
    "cmath": r"std::(?:exp2?|log2?|sqrt|isnan|isinf|isfinite|fabs|fma|ldexp|nextafter)\(",
    "bit": r"std::(?:bit_cast|popcount|countr_zero|countl_zero|bit_width|bit_ceil|has_single_bit)\b",
    "limits": r"std::numeric_limits\b",
    "mutex": r"std::(?:mutex|lock_guard|unique_lock|scoped_lock|once_flag|call_once)\b",
    "atomic": r"std::(?:atomic|atomic_ref|atomic_flag|memory_order_\w+)\b",
    "thread": r"std::(?:thread|jthread|this_thread)\b",
    "chrono": r"std::chrono\b",
    "map": r"std::(?:multi)?map\b",
    "set": r"std::(?:multi)?set\b",
    "unordered_map": r"std::unordered_map\b",
    "tuple": r"std::(?:tuple|tie)\b",
    "fstream": r"std::[io]?fstream\b",
    "sstream": r"std::[io]?stringstream\b",
    "filesystem": r"std::filesystem\b",
    "csignal": r"std::(?:signal|raise|sig_atomic_t)\b",
    "cstdio": r"std::(?:FILE|fopen|fclose|fwrite|fread|fputs|fflush|printf|fprintf|snprintf)\b",
    "cstdlib": r"std::(?:getenv|abort|malloc|free|strtol|strtoull|aligned_alloc)\b",
}
PATTERNS = {header: re.compile(pattern) for header, pattern in NAMES.items()}
# Headers whose standard text promises what another declares.
BRINGS = {"string": {"string_view"}}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


@cache
def direct(path: Path) -> tuple[frozenset[str], tuple[str, ...]]:
    text = path.read_text(encoding="utf-8")
    found = INCLUDE.findall(text)
    return frozenset(a for a, _ in found if a), tuple(b for _, b in found if b)


def reached(root: Path, path: Path) -> set[str]:
    """The standard headers that the file includes, through any number of our headers."""
    seen: set[Path] = set()
    standard: set[str] = set()
    queue = [path]
    while queue:
        file = queue.pop()
        if file in seen:
            continue
        seen.add(file)
        angled, quoted = direct(file)
        standard |= angled
        for name in [*quoted, *angled]:
            for place in (root / name, file.parent / name, root / "hip_backend/hip_runtime" / name):
                if place.is_file():
                    queue.append(place)
                    break
    for header in list(standard):
        standard |= BRINGS.get(header, set())
    return standard


def missing(root: Path, path: Path) -> list[str]:
    text = COMMENT.sub(" ", path.read_text(encoding="utf-8"))
    used = {h: m.group() for h, pattern in PATTERNS.items() if (m := pattern.search(text))}
    if not used:
        return []
    has = reached(root, path)
    return [f"{path.relative_to(root)}: {name.rstrip('(')} needs <{header}>"
            for header, name in used.items() if header not in has]


def sources(root: Path) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", "--", "*.cpp", "*.hpp"], cwd=root,
                            capture_output=True, text=True, check=False)
    names = listed.stdout.split("\0") if listed.returncode == 0 else []
    found = [root / n for n in names if n] or [*root.rglob("*.cpp"), *root.rglob("*.hpp")]
    return sorted(p for p in found if p.is_file() and "build" not in p.relative_to(root).parts)


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()
    wrong = [line for path in sources(root) for line in missing(root, path)]
    print("\n".join(wrong) if wrong else "each source includes the standard headers that it uses")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
