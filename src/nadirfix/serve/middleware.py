"""Around every request: a request number, security headers, metrics, the log, and a catch-all for errors."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders

from nadirfix.errors import ServiceError
from nadirfix.serve.errors import LOG, UnclearEnd, error_response, fault, one_line
from nadirfix.serve.options import HEADER_BYTES, RETRY_SOON_S
from nadirfix.serve.queue.work_queue import Busy, ClientGone
from nadirfix.serve.uploads.drain import BodyDrain

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from nadirfix.serve.metrics import Metrics
    from nadirfix.serve.options import ServeOptions

__all__ = ["CONTENT_POLICY", "SECURITY_HEADERS", "RequestMiddleware"]

#: Scripts, styles, fonts and requests from this service alone; pictures also from what the page itself made.
CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "font-src 'self'",
        "img-src 'self' blob: data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "child-src 'self' blob:",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
#: Sent with every response.
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}
#: Methods that are counted by name; a client may invent any number of others.
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
#: Requested all the time: logged at debug level only.
_FREQUENT = ("/v1/tiles", "/v1/references", "/assets", "/healthz", "/readyz", "/metrics")


class RequestMiddleware:
    """Numbers, counts and logs every request, and adds the security headers."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, options: ServeOptions) -> None:
        self._app, self._metrics, self._options = app, metrics, options
        self._in_progress = 0
        shared = "cross-origin" if options.allow_origins else "same-origin"
        self._headers = {**SECURITY_HEADERS, "Cross-Origin-Resource-Policy": shared}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["nadirfix.request_id"] = secrets.token_hex(8)
        drain = BodyDrain(scope, receive, self._options)
        response = _Response(scope, send, self._headers, drain, self._options.send_s)
        self._in_progress += 1
        try:
            await self._respond(scope, drain.receive, response)
        finally:
            self._in_progress -= 1
            self._log(scope, response)

    async def _respond(self, scope: Scope, receive: Receive, response: _Response) -> None:
        try:
            self._check(scope)
            await self._app(scope, receive, response.send)
        except ClientGone:
            response.status = response.status or 499  # nobody receives it: for the log alone
        except asyncio.CancelledError:
            if response.status:
                raise
            await response.reply(error_response(_stopped(response)), scope, receive)
        except ServiceError as error:
            await response.reply(error_response(error), scope, receive)
        except Exception as error:  # a client must not see a traceback
            LOG.exception("%s %s", response.request_id, one_line(f"{type(error).__name__}: {error}"))
            if response.status:
                raise  # half a response is out: only closing the connection says so
            await response.reply(error_response(fault(error, response.request_id)), scope, receive)

    def _check(self, scope: Scope) -> None:
        if self._in_progress > self._options.most_requests:
            detail = f"{self._in_progress} in progress"
            raise Busy("too many requests at once", seen=detail, retry_after_s=RETRY_SOON_S)
        head_bytes = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        head_bytes += len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if head_bytes > HEADER_BYTES:
            do = f"send at most {HEADER_BYTES} bytes of address and headers"
            raise ServiceError(
                "service.headers",
                "the address and the headers are too long",
                seen=f"{head_bytes} bytes",
                do=do,
            )
        _check_framing(scope)

    def _log(self, scope: Scope, response: _Response) -> None:
        seconds = time.monotonic() - response.started_s
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.request(method, route, response.status, seconds)
        level = logging.DEBUG if scope["path"].startswith(_FREQUENT) else logging.INFO
        values = (response.request_id, scope["method"], one_line(scope["path"][:200]), response.status)
        LOG.log(level, "%s %s %s %d %.0f ms", *values, 1000 * seconds)


class _Response:
    """The response to one request, as it is sent."""

    def __init__(
        self, scope: Scope, send: Send, headers: dict[str, str], drain: BodyDrain, send_s: float
    ) -> None:
        self._send, self._headers, self._drain, self._send_s = send, headers, drain, send_s
        self.request_id: str = scope["nadirfix.request_id"]
        self.status, self.started_s = 0, time.monotonic()

    async def send(self, message: Message) -> None:
        """Send one message; a client that does not read its response in time is given up."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._add_headers(MutableHeaders(scope=message))
        elif not message.get("more_body", False) and self._drain.is_needed(self.status):
            await self._write({**message, "more_body": True})
            await self._drain.discard()
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._write(message)

    async def _write(self, message: Message) -> None:
        try:
            async with asyncio.timeout(self._send_s):
                await self._send(message)
        except TimeoutError as error:
            raise ClientGone from error

    async def reply(self, error: ASGIApp, scope: Scope, receive: Receive) -> None:
        await error(scope, receive, self.send)

    def _add_headers(self, headers: MutableHeaders) -> None:
        for name, value in self._headers.items():
            headers[name] = value
        headers["X-Request-Id"] = self.request_id
        headers.setdefault("Cache-Control", "no-store")


def _check_framing(scope: Scope) -> None:
    """Refuse a body whose end two readers could find at different places, the rest being a request to one."""
    names = {bytes(name) for name, _ in scope["headers"]}
    both = {b"content-length", b"transfer-encoding"} <= names
    if both or (b"transfer-encoding" in names and scope["http_version"] == "1.0"):
        raise UnclearEnd(
            "service.request",
            "it is not clear where the request ends",
            seen="Content-Length and Transfer-Encoding" if both else "Transfer-Encoding in HTTP/1.0",
            do="send one of them, by HTTP/1.1",
        )


def _stopped(response: _Response) -> ServiceError:
    """The service is stopping, and this request takes longer than it waits."""
    return ServiceError(
        "service.stopping",
        "the service stops before this is ready",
        seen=f"{time.monotonic() - response.started_s:.0f} s of waiting",
        do="ask again when it is back",
    )
