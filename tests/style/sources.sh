# Sourced: the C++ sources of the project below the folders given, NUL-separated.
sources() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z -- "${@/%//*.cpp}" "${@/%//*.hpp}" "${@/%//*.hip}"
  else
    find "$@" \( -name '*.cpp' -o -name '*.hpp' -o -name '*.hip' \) -print0
  fi
}
