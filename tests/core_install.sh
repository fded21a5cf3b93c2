#!/usr/bin/env bash
# Locate one photo in an environment that has only the core install: no torch, no training libraries.
# usage: tests/core_install.sh BUNDLE PHOTO [PYTHON]     the answer goes to standard output
set -euo pipefail
bundle=$(realpath "$1")
photo=$(realpath "$2")
python=${3:-python3}
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt . >&2
if "$scratch/venv/bin/python" -c 'import torch' 2>/dev/null; then
  echo "torch is there: this is not the core install" >&2
  exit 1
fi
cd "$scratch"
"$scratch/venv/bin/nadirfix" locate "$photo" --bundle "$bundle" --quiet
