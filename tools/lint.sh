#!/usr/bin/env bash
# tools/lint.sh: every rule that a machine can check. Runs all of them before it fails.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=()

# check NAME COMMAND...
check() {
  local name=$1
  shift
  echo "lint: $name"
  "$@" || failed+=("$name")
}

formatted() {
  git ls-files -co --exclude-standard '*.cc' '*.h' | xargs -r clang-format-19 --dry-run -Werror
}

tools/setup --lint
check "house rules" tools/tidy.py
check "the checks of the house rules" tools/tidy.py --self-test
check "format" formatted
check "shell scripts" shellcheck tools/setup tools/*.sh .ci/run
check "every header compiles alone" tools/build.sh dev all_verify_interface_header_sets
check "g++ compiles the pure modules" tools/analyse.py gcc
check "clang-tidy" tools/analyse.py tidy

if ((${#failed[@]})); then
  printf 'lint: failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
echo "lint: nothing to complain about"
