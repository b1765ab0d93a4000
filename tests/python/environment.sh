# shellcheck shell=bash
# Virtual environments of tests, made once, also where two tests ask at the same time. Source it.

# environment DIR KEY COMMAND...: DIR is a virtual environment in which COMMAND was run, with DIR as
# its last argument. It is made anew where KEY, such as the requirements, is not that of the last
# time. Fails where it cannot be made.
environment() {
  local venv=$1 key=$2
  shift 2
  (
    flock 9
    [[ -e $venv/key && $(<"$venv/key") == "$key" ]] && exit 0
    rm -rf "$venv"
    python3 -m venv "$venv" && "$@" "$venv" && printf '%s\n' "$key" > "$venv/key"
  ) 9> "$venv.lock"
}

# Triton and torch, for environment; before the directory, what else is wanted.
triton_requirements=$(dirname "${BASH_SOURCE[0]}")/triton_kernels/requirements.txt
install_triton() {
  timeout 900 "${*: -1}/bin/pip" install --quiet -r "$triton_requirements" "${@:1:$#-1}"
}
