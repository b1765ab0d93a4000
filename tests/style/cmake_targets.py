"""Which CMake target a file belongs to, and which targets it may include from.

Read from the CMakeLists.txt themselves, so no configured build is needed. A header belongs to the
target that lists it or the source of its name; a file that no target lists, to the library of the nearest
CMakeLists.txt. An object library is a part of the target that takes its objects.
"""
import re

COMMAND = re.compile(r"(\w+)\(([^()]*)\)")
WRAPPED = re.compile(r"\$<(?:BUILD_INTERFACE|TARGET_OBJECTS):([^>]*)>")
VISIBILITY = {"PUBLIC", "PRIVATE", "INTERFACE"}


def unit(path):
    """A header and the source of the same name are one."""
    return path.rsplit(".", 1)[0]


class Targets:
    def __init__(self, root, tops):
        self._owner = {}   # unit -> target that lists its source
        self._folder = {}  # folder -> libraries that its CMakeLists.txt defines
        self._whole = {}   # object library -> target that takes its objects
        self._links = {}   # target -> [(linked, whether its users see it)]
        for top in tops:
            for file in sorted((root / top).rglob("CMakeLists.txt")):
                self._read(file.parent.relative_to(root).as_posix(), file.read_text())

    def _read(self, folder, text):
        for command, arguments in COMMAND.findall(re.sub(r"#.*", "", text)):
            name, *rest = arguments.split() or [""]
            if command == "mla_library":
                self._folder.setdefault(folder, set()).add(f"mla_{name}")
            elif command == "add_library" and not {"ALIAS", "INTERFACE"} & set(rest):
                self._folder.setdefault(folder, set()).add(name)
                self._sources(folder, name, rest)
            elif command in ("add_executable", "target_sources"):
                self._sources(folder, name, rest)
            elif command == "target_link_libraries":
                self._link(name, rest)

    def _sources(self, folder, target, words):
        for word in words:
            taken = WRAPPED.fullmatch(word)
            if taken:
                self._whole[taken[1]] = target
            elif word.endswith((".cpp", ".hpp")) and not word.startswith("$"):
                self._owner[unit(f"{folder}/{word}")] = target

    def _link(self, target, words):
        public = True
        for word in words:
            if word in VISIBILITY:
                public = word != "PRIVATE"
                continue
            word = WRAPPED.sub(r"\1", word).replace("MlaTestbed::", "mla_")
            self._links.setdefault(target, []).append((word, public))

    def of(self, path):
        """The targets that `path` may belong to: one, unless its folder defines several."""
        found = self._owner.get(unit(path))
        folder = path
        names = {found} if found else set()
        while not names and "/" in folder:
            folder = folder.rsplit("/", 1)[0]
            names = self._folder.get(folder, set())
        return {self._whole.get(name, name) for name in names}

    def seen_from(self, target):
        """The target itself, what it links, and what that links for its users."""
        parts = [target, *(part for part, whole in self._whole.items() if whole == target)]
        seen = {target}
        open_ = [linked for part in parts for linked, _ in self._links.get(part, [])]
        while open_:
            at = open_.pop()
            if at not in seen:
                seen.add(at)
                open_ += [linked for linked, public in self._links.get(at, []) if public]
        return seen
