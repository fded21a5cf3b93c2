"""Which requests are allowed: by host name, origin and token (ADR 19)."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from nadirfix.errors import ServiceError
from nadirfix.serve.errors import client_error, error_response
from nadirfix.serve.options import is_this_machine

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from nadirfix.serve.options import ServeOptions

__all__ = ["AccessControl"]

#: What a token protects; the page itself holds nothing that needs it.
_PROTECTED = ("/v1/", "/metrics")


class AccessControl:
    """Refuses requests that are not allowed, before anything of their body is read."""

    def __init__(self, app: ASGIApp, *, options: ServeOptions) -> None:
        self._app, self._options = app, options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, or say why it is refused."""
        refusal = self._refusal(scope, Headers(scope=scope)) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            visible = client_error(refusal, scope["nadirfix.request_id"])
            await error_response(visible)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> ServiceError | None:
        if self._options.token is None and not _names_this_machine(headers.get("host", "")):
            return _wrong_host(headers.get("host", ""))
        origin = headers.get("origin")
        if origin is not None and not self._is_allowed(origin, headers.get("host", "")):
            return _wrong_origin(repr(origin[:80]))
        if origin is None and self._is_foreign(scope["method"], headers):
            return _wrong_origin(f"Sec-Fetch-Site: {headers['sec-fetch-site'][:20]!r}")
        if self._options.token is not None and scope["path"].startswith(_PROTECTED):
            return self._token_refusal(headers)
        return None

    def _is_allowed(self, origin: str, host: str) -> bool:
        """Our own page, or a listed origin; the scheme is not compared, as a proxy may add HTTPS."""
        return origin in self._options.allow_origins or (_host_of(origin) == host.lower() != "")

    def _is_foreign(self, method: str, headers: Headers) -> bool:
        """Whether a browser says that another site's page asks, as for a picture, which names no origin.

        Following a link to the page is no such thing; pages that were allowed may show pictures.
        """
        if headers.get("sec-fetch-site", "none") in {"same-origin", "none"}:
            return False
        followed = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        return method not in {"GET", "HEAD"} or not (followed or self._options.allow_origins)

    def _token_refusal(self, headers: Headers) -> ServiceError | None:
        """Compare in constant time: how long it takes must not reveal how much of the token was right."""
        kind, _, token = headers.get("authorization", "").partition(" ")
        expected = (self._options.token or "").encode()
        matches = hmac.compare_digest(token.strip().encode(), expected)
        if matches and kind.lower() == "bearer":
            return None
        return ServiceError(
            "service.token",
            "a token is needed",
            seen="another one" if token else "none",
            do="send the header Authorization: Bearer TOKEN; in the address it is not read",
        )


def _names_this_machine(host: str) -> bool:
    """Whether the client used this machine's own name: others may be made to point here (DNS rebinding)."""
    try:
        return is_this_machine(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _wrong_host(host: str) -> ServiceError:
    return ServiceError(
        "service.host",
        "this service does not answer to that name",
        seen=repr(host[:80]),
        do="call it localhost or 127.0.0.1, or start it with a token",
    )


def _wrong_origin(seen: str) -> ServiceError:
    return ServiceError(
        "service.origin",
        "pages of other origins may not ask",
        seen=seen,
        do="open the service's own page, or start it with --allow-origin",
    )
