"""The small bundle and photos of the end-to-end tests, for faults too; see tests/e2e/conftest.py."""

from tests.e2e.conftest import shared, tiny_bundle, tiny_photos, tiny_world

__all__ = ["shared", "tiny_bundle", "tiny_photos", "tiny_world"]
