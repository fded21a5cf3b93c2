"""Benchmarks: run one as `python -m bench.FOLDER.SCRIPT` from the repository."""
