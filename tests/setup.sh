# Sourced by properties/run.sh, tests/run.sh and .ci/run: makes sure that packages are there.
#
# need_packages installs what is missing when it may (root, or sudo without a password); otherwise
# it prints the line that would and exits 3 (environment). The names are Debian's and Ubuntu's; dnf
# gets Fedora's. What a system does not have is named in one line: a library is then fetched by
# CMake (MLA_DEPS), and a tool's tests are skipped. In CI nothing may be missing.

mla_judge_packages=(
  g++ cmake ninja-build git        # C++20 with OpenMP; git fetches libraries
  librapidcheck-dev                # random cases
  libxtensor-dev                   # the dense reference
  libcli11-dev nlohmann-json3-dev  # the command line
)
# And tests, benchmarks, and a Debian package.
mla_build_packages=("${mla_judge_packages[@]}" catch2 libbenchmark-dev file)
mla_style_packages=(
  clang-format-19 clang-tidy-19 libomp-19-dev # clang's own omp.h, for clang-tidy
  python3-yaml                                # the workflows
)
mla_device_packages=(clang-22 lld-22 llvm-22) # machine code of gfx942 and gfx950, and its listing
mla_capture_packages=(python3-numpy) # what mla_capture.py dumps with
mla_python_packages=(python3-venv python3-pip gcc) # tests of the Python package, and its C header
# clang does not bring its sanitizers; llvm-19 has the symbolizer.
mla_tsan_packages=(clang-19 libomp-19-dev libclang-rt-19-dev llvm-19)
# The page in the browser: clang-22 for WebAssembly, and a browser.
mla_page_packages=(clang-22 lld-22 libc++-22-dev-wasm32 libclang-rt-22-dev-wasm32 wasi-libc)
mla_browser_packages=("${mla_page_packages[@]}" chromium)
# Fuzz targets, an old processor, the page.
mla_nightly_packages=("${mla_tsan_packages[@]}" qemu-user "${mla_browser_packages[@]}")

# Fedora's name of a Debian package.
fedora_name() {
  case $1 in
    g++) echo gcc-c++ ;;
    librapidcheck-dev) echo rapidcheck-devel ;;
    libxtensor-dev) echo xtensor-devel ;;
    libcli11-dev) echo cli11-devel ;;
    nlohmann-json3-dev) echo json-devel ;;
    catch2) echo catch-devel ;;
    libbenchmark-dev) echo google-benchmark-devel ;;
    clang-format-* | clang-tidy-*) echo clang-tools-extra ;;
    libomp-*) echo libomp-devel ;;
    libclang-rt-*) echo compiler-rt ;;
    clang-* | lld-* | llvm-*) echo "${1%-*}" ;;
    python3-venv) echo python3 ;;
    *) echo "$1" ;;
  esac
}

is_installed() {
  if command -v dpkg-query >/dev/null; then
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
  else
    rpm -q --quiet "$1"
  fi
}

# Whether the system's archive has the package.
is_available() {
  if command -v apt-cache >/dev/null; then
    [[ $(apt-cache policy "$1" 2>/dev/null) == *"Candidate: "[!\(]* ]]
  else
    dnf -q info "$1" >/dev/null 2>&1
  fi
}

# The names under which a package may be had, best first: any clang from 20 on builds the device code.
names_of() {
  if [[ $manager == dnf ]]; then
    fedora_name "$1"
  else
    echo "$1"
    [[ $1 != *-22 ]] || printf '%s\n' "${1%-22}-21" "${1%-22}-20"
  fi
}

# The first of the names after $1 for which $1 holds.
first_that() {
  local name check=$1
  shift
  for name; do "$check" "$name" && echo "$name" && return; done
  return 1
}

# How to run something as root: nothing to add, sudo, or not at all.
root_prefix() {
  [[ $(id -u) -eq 0 ]] && return
  sudo -n true 2>/dev/null && echo sudo -n
}

# Sets `wanted` to what is to be installed, and `absent` to what the archive lacks.
split_missing() {
  local package name names
  wanted=() absent=()
  for package; do
    mapfile -t names < <(names_of "$package")
    first_that is_installed "${names[@]}" >/dev/null && continue
    if name=$(first_that is_available "${names[@]}"); then
      [[ " ${wanted[*]-} " == *" $name "* ]] || wanted+=("$name")
    else
      absent+=("$package")
    fi
  done
}

need_packages() {
  local manager prefix wanted absent allowed=true
  for manager in apt-get dnf none; do command -v "$manager" >/dev/null && break; done
  if [[ $manager == none ]]; then
    echo "setup: neither apt-get nor dnf here; wanted are the equivalents of Debian's $*" >&2
    need_tools
    return 0
  fi
  split_missing "$@"
  ((${#wanted[@]} + ${#absent[@]})) || return 0
  prefix=$(root_prefix) || allowed=false
  # A fresh image has no package lists: nothing is available before they are fetched.
  if [[ $manager == apt-get && $allowed == true ]]; then
    $prefix apt-get update >&2 ||
      echo "setup: apt-get update failed; the package lists may be old" >&2
    split_missing "$@"
  fi
  if ((${#absent[@]})); then
    echo "setup: this system has no package ${absent[*]}" >&2
    [[ ${CI-} != true ]] || exit 3
  fi
  ((${#wanted[@]} == 0)) || install_packages "${wanted[@]}"
  need_tools
}

# Of need_packages: installs the packages with `prefix`, or says how if that is not `allowed`.
install_packages() {
  if [[ $allowed != true ]]; then
    echo "setup: packages are missing; install them with" >&2
    [[ $manager == dnf ]] || echo "  sudo apt-get update" >&2
    echo "  sudo $manager install $*" >&2
    exit 3
  fi
  local install=("$manager" install -y)
  [[ $manager == dnf ]] || install=(env DEBIAN_FRONTEND=noninteractive "${install[@]}"
                                    --no-install-recommends)
  $prefix "${install[@]}" "$@" >&2 || {
    echo "setup: this failed: ${install[*]} $*" >&2
    exit 3
  }
}

# Without these nothing is built, whatever the system calls their packages.
need_tools() {
  local tool
  for tool in cmake ninja "${CXX:-c++}"; do
    command -v "$tool" >/dev/null || {
      echo "setup: there is no '$tool' on the PATH; the packages wanted are Debian's" \
        "${mla_judge_packages[*]}" >&2
      exit 3
    }
  done
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
