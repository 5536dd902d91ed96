#!/usr/bin/env bash
# tools/build.sh PRESET [TARGET]...: sets up, configures if need be, and builds.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly preset=$1
shift

tools/setup
mkdir -p "build/$preset"
# Configured anew when what the environment or the preset chooses changes; Ninja sees to everything
# else.
flags=("-DSEEDANCE_CUDA=${SEEDANCE_CUDA:-0}" "-DSEEDANCE_LLAMA_DIR=${SEEDANCE_LLAMA_DIR:-}")
settings="${flags[*]} $(cksum <CMakePresets.json)"
if [[ ! -f build/$preset/build.ninja || $(cat "build/$preset/settings" 2>/dev/null) != "$settings" ]]; then
  echo "build: configuring build/$preset"
  cmake --preset "$preset" "${flags[@]}" >"build/$preset/configure.log" 2>&1 ||
    { tail -n 20 "build/$preset/configure.log" >&2; exit 1; }
  echo "$settings" >"build/$preset/settings"
fi
NINJA_STATUS="[$preset %f/%t, %es] " cmake --build "build/$preset" ${1:+--target "$@"}
