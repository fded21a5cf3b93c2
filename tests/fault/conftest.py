"""The small bundle and photos of the end-to-end tests, for faults too; see tests/e2e/conftest.py."""

from tests.e2e.conftest import ground_map, shared, tiny_bundle, tiny_photos, tiny_world, trained_bundle

__all__ = ["ground_map", "shared", "tiny_bundle", "tiny_photos", "tiny_world", "trained_bundle"]
