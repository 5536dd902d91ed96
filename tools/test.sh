#!/usr/bin/env bash
# tools/test.sh PRESET: builds the preset and runs its unit tests; with release, the end-to-end
# and conformance tests, a short chaos run, and what tests the measurements too. Appends 'name
# passed failed' lines to the file that SEEDANCE_TALLY names.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly preset=$1
readonly tally=${SEEDANCE_TALLY:-/dev/null}
failed_any=0

# count NAME PASSED FAILED
count() {
  echo "$1: $2 passed, $3 failed"
  echo "$1 $2 $3" >>"$tally"
  (($3 == 0)) || failed_any=1
}

unit_tests() {
  local log=build/$preset/test.log status=0 total failed
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(nproc)" 2>&1 | tee "$log" || status=$?
  # "98% tests passed, 1 tests failed out of 50"
  read -r failed total < <(sed -nE 's/.*tests passed, ([0-9]+) tests failed out of ([0-9]+).*/\1 \2/p' "$log") || true
  if ((status != 0 && ${failed:-0} == 0)); then failed=1; fi
  count "unit ($preset)" $((${total:-$failed} - failed)) "$failed"
}

# simulation SEEDS: so many of each scenario.
simulation() {
  local log=build/$preset/simulation.log status=0 runs failed
  "build/$preset/seedance-sim" --seeds "0..$(($1 - 1))" --jobs "$(nproc)" 2>&1 | tee "$log" || status=$?
  # "20000 runs of 10 scenarios: 0 failed; ..."
  read -r runs failed < <(sed -nE 's/^([0-9]+) runs of .*: ([0-9]+) failed;.*/\1 \2/p' "$log") || true
  if ((status != 0 && ${failed:-0} == 0)); then failed=1; fi
  count "simulation ($preset)" $((${runs:-$failed} - failed)) "$failed"
}

# node_tests NAME DIRECTORY
node_tests() {
  tap_count() { sed -nE "s/^# $1 ([0-9]+)\$/\1/p" "$log" | grep . || echo 0; }

  local log=build/$preset/${2##*/}.tap status=0 all passed skipped failed
  tools/setup --node
  .deps/bin/node --test --test-timeout=600000 --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter=tap --test-reporter-destination="$log" "$2"/*.test.mjs || status=$?
  all=$(tap_count tests) passed=$(tap_count pass) skipped=$(tap_count skipped)
  failed=$((all - passed - skipped))
  if ((status != 0 && failed == 0)); then failed=1; fi
  count "$1" "$passed" "$failed"
}

# python_tests NAME DIRECTORY. Debian's Python: it has Debian's packages.
python_tests() {
  local log=build/$preset/${2##*/}.log status=0 all bad
  /usr/bin/python3 -m unittest discover -s "$2" -p '*_test.py' 2>&1 | tee "$log" || status=$?
  # "Ran 68 tests in 5.2s", "FAILED (failures=1, errors=2)"
  all=$(sed -nE 's/^Ran ([0-9]+) tests? in .*/\1/p' "$log")
  bad=$(sed -nE 's/^FAILED \((.*)\)$/\1/p' "$log" | grep -oE '[0-9]+' | awk '{n += $1} END {print n + 0}') || true
  if ((status != 0 && ${bad:-0} == 0)); then bad=1; fi
  count "$1" $((${all:-0} - ${bad:-0} > 0 ? ${all:-0} - ${bad:-0} : 0)) "${bad:-0}"
}

tools/build.sh "$preset"
unit_tests
case $preset in
  release) simulation 2000 ;;
  asan) simulation 200 ;;
  tsan) simulation 20 ;;  # Each run has one thread: only what they share could race.
esac
if [[ $preset == release ]]; then
  python_tests measurements bench
  node_tests "end to end" tests/e2e
  tools/setup --conformance
  python_tests conformance tests/conformance
  node_tests "conformance of clients and proxies" tests/conformance
  node_tests chaos tests/chaos
fi
exit "$failed_any"
