#!/usr/bin/env python3
"""No modules of the Python package import each other in a circle, by whatever way: imports inside
functions and those for type checkers count too.

    tests/style/python_imports.py [ROOT]

What counts is the module that an import names. That a module's own packages are imported before it
is no import of theirs: __init__.py may offer what its modules define.

Exit: 0 no circle, 1 a circle, or a known one that is no longer there.
"""
import ast
import pathlib
import sys

#: Circles that are known, each as the names of its modules. The list only shrinks.
KNOWN: list[set[str]] = []
PACKAGE = "mla_testbed"


def modules_of(folder):
    """Source files by the dotted names of their modules; a package is its __init__.py."""
    found = {}
    for file in sorted((folder / PACKAGE).rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports_of(name, file, modules):
    """The modules of the package that a module imports."""
    home = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            base = home[:len(home) - node.level + 1] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                if inner in modules or source in modules:
                    yield inner if inner in modules else source


def circles(graph):
    """Sets of modules that reach each other (Tarjan's strongly connected components)."""
    index, low, stack, found = {}, {}, [], []

    def visit(name):
        index[name] = low[name] = len(index)
        stack.append(name)
        for used in graph[name]:
            if used not in index:
                visit(used)
            if used in stack:
                low[name] = min(low[name], low[used])
        if low[name] == index[name]:
            at = stack.index(name)
            component = set(stack[at:])
            del stack[at:]
            if len(component) > 1 or name in graph[name]:
                found.append(component)

    for name in graph:
        if name not in index:
            visit(name)
    return found


def shortest(graph, component):
    """One way round: the shortest circle through the first module."""
    first = min(component)
    ways = [[first]]
    for way in ways:
        for used in sorted(graph[way[-1]] & component):
            if used == first:
                return " -> ".join([*way, first])
            if all(used not in other for other in ways):
                ways.append([*way, used])
    raise AssertionError("not a circle")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    root = root if root.is_dir() else root.parents[2]
    modules = modules_of(root / "properties/python")
    graph = {name: set(imports_of(name, file, modules)) for name, file in modules.items()}
    found = circles(graph)
    wrong = [f"{len(component)} modules import each other: {shortest(graph, component)}"
             for component in found if component not in KNOWN]
    wrong += [f"no longer a circle: {', '.join(sorted(known))}; remove it from KNOWN"
              for known in KNOWN if known not in found]
    if not modules:
        wrong.append(f"{root} has no properties/python/{PACKAGE}")
    print("\n".join(wrong) or f"{len(modules)} modules, {len(found)} circles, all of them known")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
