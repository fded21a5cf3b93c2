#!/usr/bin/env bash
# In an environment that has only the core install (no torch, no training libraries): locate one photo with a
# bundle that was built elsewhere, then build a bundle from a map there and locate the photo with that; and once
# more by the standard recipe, where the package carries its networks.
# usage: tests/core_install.sh BUNDLE PHOTO MAP [PYTHON]     answers go to standard output
set -euo pipefail
bundle=$(realpath "$1")
photo=$(realpath "$2")
map=$(realpath "$3")
python=${4:-python3}
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt . >&2
if "$scratch/venv/bin/python" -c 'import torch' 2>/dev/null; then
  echo "torch is there: this is not the core install" >&2
  exit 1
fi
cd "$scratch"
"$scratch/venv/bin/nadirfix" locate "$photo" --bundle "$bundle" --quiet
"$scratch/venv/bin/nadirfix" build "$map" --out here.nadir --recipe tiny --quiet >&2
"$scratch/venv/bin/nadirfix" locate "$photo" --bundle here.nadir --quiet
# The standard recipe as well, where the package carries its networks.
if "$scratch/venv/bin/python" -c 'from nadirfix.options.recipe import *; exit(not (ships(SHIPPED_ALTITUDE) and ships(SHIPPED_PLACE)))'; then
  # Fewer views than a pilot's: what is tried here is that nothing but the core is needed.
  printf 'base = "standard"\n[fit]\nviews = 200\n[quantise]\nviews = 16\n' >few.toml
  "$scratch/venv/bin/nadirfix" build "$map" --out standard.nadir --recipe few.toml --quiet >&2
  "$scratch/venv/bin/nadirfix" locate "$photo" --bundle standard.nadir --quiet
fi
