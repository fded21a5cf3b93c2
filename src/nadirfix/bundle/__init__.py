"""The trained bundle on disk: everything it takes to locate a photo, in one folder of open formats."""

from nadirfix.bundle.bundle import Bundle
from nadirfix.bundle.references import References

__all__ = ["Bundle", "References"]
