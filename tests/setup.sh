# Sourced by properties/run.sh, tests/run.sh and .ci/run: makes sure that Debian packages are there.
#
# need_packages installs what is missing when it may (root, or sudo without a password); otherwise
# it prints the line that would and exits 3 (environment). On a system without dpkg it only says
# what is needed: the build then finds it or names it.

mla_build_packages=(
  g++ cmake ninja-build            # C++20 with OpenMP
  catch2 librapidcheck-dev         # tests, random cases
  libxtensor-dev                   # the dense reference
  libcli11-dev nlohmann-json3-dev  # the command line
  libbenchmark-dev                 # benchmarks
)
mla_style_packages=(clang-format-19 clang-tidy-19 libomp-19-dev) # clang's own omp.h, for clang-tidy
mla_device_packages=(clang-22 lld-22 llvm-22) # machine code of gfx942 and gfx950, and its listing
mla_capture_packages=(python3-numpy) # what mla_capture.py dumps with
mla_python_packages=(python3-venv python3-pip gcc) # tests of the Python package, and its C header
# clang does not bring its sanitizers; llvm-19 has the symbolizer.
mla_tsan_packages=(clang-19 libomp-19-dev libclang-rt-19-dev llvm-19)

# The packages among the arguments that are not installed, one a line.
missing_packages() {
  local package
  for package in $(printf '%s\n' "$@" | sort -u); do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
      echo "$package"
  done
}

need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "setup: no dpkg here; needed are the equivalents of the Debian packages: $*" >&2
    return 0
  fi
  local missing as_root=()
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  local install=(apt-get install -y --no-install-recommends "${missing[@]}")
  if [[ $(id -u) -ne 0 ]]; then
    if ! sudo -n true 2>/dev/null; then
      echo "setup: Debian packages are missing; install them with" >&2
      echo "  sudo apt-get update && sudo ${install[*]}" >&2
      exit 3
    fi
    as_root=(sudo -n)
  fi
  echo "setup: ${install[*]}" >&2
  # A fresh image has no package lists; an old one has lists that name files long gone.
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" >&2; then
    "${as_root[@]}" apt-get update >&2 &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" >&2 || {
      echo "setup: this failed: ${install[*]}" >&2
      exit 3
    }
  fi
}

mla_configure=() # further arguments of the configuration

# Configures and builds a preset; further arguments go to the build. Uses ccache where it is there.
build_preset() {
  local preset=$1
  shift
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  fi
  cmake --preset "$preset" "${mla_configure[@]}" >&2 || return
  cmake --build --preset "$preset" "$@" >&2
}
