"""Around every request: a number for the log, headers that keep browsers careful, and a last net."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders

from nadirfix.errors import ServiceError
from nadirfix.serve.errors import LOG, answer, internal, one_line
from nadirfix.serve.options import RETRY_SOON_S
from nadirfix.serve.queue.work_queue import Busy, ClientGone
from nadirfix.serve.uploads.drain import Rest

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from nadirfix.serve.metrics import Metrics
    from nadirfix.serve.options import ServeOptions

__all__ = ["CAREFUL", "POLICY", "Envelope"]

#: Scripts, styles, fonts and requests from here alone; pictures also from what the page itself made.
POLICY = "; ".join(
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
#: What every answer tells a browser.
CAREFUL = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}
#: What a method is counted as; a client may make up others without end.
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
#: Asked for all the time; worth a line only when somebody is looking for it.
_COMMON = ("/v1/tiles", "/v1/references", "/assets", "/healthz", "/readyz", "/metrics")


class Envelope:
    """Numbers, dresses, counts and logs every request."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, options: ServeOptions) -> None:
        self._app, self._metrics, self._options = app, metrics, options
        self._at_work = 0
        shared = "cross-origin" if options.allow_origins else "same-origin"
        self._headers = {**CAREFUL, "Cross-Origin-Resource-Policy": shared}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["nadirfix.request_id"] = secrets.token_hex(8)
        rest = Rest(scope, receive, self._options)
        letter = _Letter(scope, send, self._headers, rest, self._options.send_s)
        self._at_work += 1
        try:
            await self._pass_on(scope, rest.receive, letter)
        finally:
            self._at_work -= 1
            self._note(scope, letter)

    async def _pass_on(self, scope: Scope, receive: Receive, letter: _Letter) -> None:
        try:
            self._check(scope)
            await self._app(scope, receive, letter.send)
        except ClientGone:
            letter.status = letter.status or 499  # nobody hears it: for the log alone
        except asyncio.CancelledError:
            if letter.status:
                raise
            await letter.reply(answer(_cut_short(letter)), scope, receive)
        except ServiceError as error:
            await letter.reply(answer(error), scope, receive)
        except Exception as error:  # the last net: a client must not see a traceback
            LOG.exception("%s %s", letter.request_id, one_line(f"{type(error).__name__}: {error}"))
            if letter.status:
                raise  # half an answer is out: only closing the connection tells
            await letter.reply(answer(internal(letter.request_id)), scope, receive)

    def _check(self, scope: Scope) -> None:
        if self._at_work > self._options.most_requests:
            seen = f"{self._at_work} at work"
            raise Busy("too many requests at once", seen=seen, retry_after_s=RETRY_SOON_S)
        head_bytes = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        head_bytes += len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if head_bytes > self._options.header_bytes:
            do = f"send at most {self._options.header_bytes} bytes of address and headers"
            raise ServiceError("service.headers", "the head is too long", seen=f"{head_bytes} bytes", do=do)

    def _note(self, scope: Scope, letter: _Letter) -> None:
        seconds = time.monotonic() - letter.began_s
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.request(method, route, letter.status, seconds)
        level = logging.DEBUG if scope["path"].startswith(_COMMON) else logging.INFO
        words = (letter.request_id, scope["method"], one_line(scope["path"][:200]), letter.status)
        LOG.log(level, "%s %s %s %d %.0f ms", *words, 1000 * seconds)


class _Letter:
    """One answer on its way out."""

    def __init__(self, scope: Scope, send: Send, headers: dict[str, str], rest: Rest, send_s: float) -> None:
        self._send, self._headers, self._rest, self._send_s = send, headers, rest, send_s
        self.request_id: str = scope["nadirfix.request_id"]
        self.status, self.began_s = 0, time.monotonic()

    async def send(self, message: Message) -> None:
        """One more piece; a client that does not take its answer for long is given up."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._dress(MutableHeaders(scope=message))
        elif not message.get("more_body", False) and self._rest.is_awaited(self.status):
            await self._write({**message, "more_body": True})
            await self._rest.let_pass()
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._write(message)

    async def _write(self, message: Message) -> None:
        try:
            async with asyncio.timeout(self._send_s):
                await self._send(message)
        except TimeoutError as error:
            raise ClientGone from error

    async def reply(self, response: ASGIApp, scope: Scope, receive: Receive) -> None:
        await response(scope, receive, self.send)

    def _dress(self, headers: MutableHeaders) -> None:
        for name, value in self._headers.items():
            headers[name] = value
        headers["X-Request-Id"] = self.request_id
        headers.setdefault("Cache-Control", "no-store")


def _cut_short(letter: _Letter) -> ServiceError:
    """The service was told to stop, and this takes longer than that may take."""
    return ServiceError(
        "service.stopping",
        "the service stops before this is ready",
        seen=f"{time.monotonic() - letter.began_s:.0f} s of waiting",
        do="ask again when it is back",
    )
