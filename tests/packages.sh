# The system packages that tests/run and examples/run need, by their Debian names.
# shellcheck shell=bash disable=SC2034
#
# Sourced by them, after which `install_packages` is there.

# The clang that fits rustc has the same LLVM.
llvm=$(rustc -vV 2>/dev/null | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
llvm=${llvm:-22}

# For everything that cargo fdo does.
needed=(
  "clang-$llvm" "llvm-$llvm" "lld-$llvm" "libclang-rt-$llvm-dev" # C and C++ with rustc's counters
  gcc g++ make cmake ninja-build # what build scripts run
  linux-perf # the sample method
  valgrind # counts instructions where the machine can't
)
# Other compilers that programs are built with, whose profiles do or don't fit.
optional=(clang-19 llvm-19 libclang-rt-19-dev clang-14 llvm-14 libclang-rt-14-dev ccache autoconf automake libtool libclang-dev gcc-11 gcc-12 autofdo python3)

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

is_available() {
  # Not `| grep -q`: it stops reading at a match, and `pipefail` takes the broken pipe for a no.
  local policy
  policy=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null) # The word differs in other languages.
  [[ $policy == *"Candidate: "[^\(]* ]]
}

# Installs what is missing of the packages that its arguments name. Asks on a terminal; elsewhere
# only CI is taken for a yes. Never fails: what is still missing, tests say by themselves.
install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "not a Debian or Ubuntu: please see to it that these are installed (Debian's names):" >&2
    printf '  %s\n' "$*" >&2
    return 0
  fi

  local package missing=() can=() can_not=() sudo=()
  for package in "$@"; do
    if [ "$package" = linux-perf ] && grep -qs '^ID=ubuntu' /etc/os-release; then
      package=linux-tools-generic
    fi
    is_installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "missing system packages: ${missing[*]}" >&2

  [ "$(id -u)" = 0 ] || sudo=(sudo)
  if [ -z "${CI:-}" ]; then
    if [ ! -t 0 ]; then
      echo "install them with: ${sudo[*]} apt-get install ${missing[*]}" >&2
      return 0
    fi
    local answer
    read -rp "run \`${sudo[*]} apt-get update\` and \`${sudo[*]} apt-get install\` for them? [Y/n] " answer
    case $answer in '' | [Yy]*) ;; *) return 0 ;; esac
  fi

  "${sudo[@]}" apt-get update -qq || echo "apt-get update failed; going on with what is known" >&2
  for package in "${missing[@]}"; do
    if is_available "$package"; then can+=("$package"); else can_not+=("$package"); fi
  done
  if [ ${#can_not[@]} -gt 0 ]; then
    echo "not in this system's package sources: ${can_not[*]}" >&2
    echo "(https://apt.llvm.org has every version of clang, llvm and lld)" >&2
  fi
  if [ ${#can[@]} -gt 0 ]; then
    echo "installing: ${can[*]}" >&2
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "${can[@]}" >/dev/null ||
      echo "apt-get install failed; going on without" >&2
  fi
}
