"""Errors as HTTP responses: the client reads what to do, the log what happened."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from starlette.responses import Response

from nadirfix.errors import MachineError, NadirfixError, ServiceError, out_of_memory
from nadirfix.serve.options import RETRY_S
from nadirfix.serve.queue.work_queue import Busy

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.requests import Request

__all__ = [
    "LOG",
    "UnclearEnd",
    "add_handlers",
    "client_error",
    "error_response",
    "fault",
    "internal_error",
    "one_line",
]

LOG = logging.getLogger("nadirfix.serve")


class UnclearEnd(ServiceError):  # noqa: N818 (nothing of ours is broken)
    """A request after which nothing can be read: its connection is closed."""


_SEE_OPENAPI = "look at /openapi.json"


def error_response(error: NadirfixError, *, headers: dict[str, str] | None = None) -> Response:
    """The response for an error."""
    content = json.dumps({"error": error.to_dict()}, ensure_ascii=True)
    more = {"Retry-After": str(_retry_after_s(error))} if error.http_status in (429, 503) else {}
    if error.code == "service.token":
        more["WWW-Authenticate"] = 'Bearer realm="nadirfix"'
    if error.code == "service.slow" or isinstance(error, UnclearEnd):
        more["Connection"] = "close"  # the rest of that body will not come either
    return Response(content, error.http_status, {**more, **(headers or {})}, "application/json")


def client_error(error: NadirfixError, request_id: str) -> NadirfixError:
    """The error as the client may see it: details of faults on our side go to the log alone."""
    ours = error.http_status >= 500 and not isinstance(error, ServiceError | MachineError)
    LOG.log(logging.ERROR if ours else logging.WARNING, "%s %s [%s]", request_id, one_line(error), error.code)
    return internal_error(request_id) if ours else error


def internal_error(request_id: str) -> NadirfixError:
    """What a client reads about a fault of ours."""
    return NadirfixError(
        "internal.error",
        "nadirfix did not expect this",
        seen=f"request {request_id}",
        do="report it with this number; the service's log has the details",
    )


def fault(error: BaseException, request_id: str) -> NadirfixError:
    """What a client reads about something unexpected: that memory is short, or that the fault is ours."""
    if out_of_memory(error) is None:
        return internal_error(request_id)
    return MachineError(
        "machine.memory",
        "the service has too little memory for that now",
        seen=f"request {request_id}",
        do="ask again when it is less busy, or send a smaller picture",
    )


def one_line(text: object) -> str:
    """Text that cannot pretend to be another line of the log."""
    return "".join(c if c.isprintable() else "�" for c in str(text))


def add_handlers(app: FastAPI) -> None:
    """Answer every error of the application in the same form."""
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

    app.add_exception_handler(NadirfixError, _on_nadirfix_error)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _on_http_error)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _on_invalid_parameters)  # type: ignore[arg-type]


async def _on_nadirfix_error(request: Request, error: NadirfixError) -> Response:
    return error_response(client_error(error, request.scope["nadirfix.request_id"]))


async def _on_http_error(request: Request, error: HTTPException) -> Response:
    detail = f"{request.method} {request.url.path[:100]}"
    if error.status_code == 405:
        refusal = ServiceError(
            "service.method", "this path does not allow the method", seen=detail, do=_SEE_OPENAPI
        )
    else:
        refusal = ServiceError(
            "service.not_found", "there is nothing at this path", seen=detail, do=_SEE_OPENAPI
        )
    return error_response(refusal, headers=dict(error.headers or {}))


async def _on_invalid_parameters(request: Request, error: RequestValidationError) -> Response:
    """A path that needs a number and has none is not found; an invalid parameter is a bad request."""
    first = error.errors()[0]
    detail = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    if first["loc"][0] == "path":
        refusal = ServiceError(
            "service.not_found", "there is nothing at this path", seen=detail, do=_SEE_OPENAPI
        )
    else:
        refusal = ServiceError("service.request", "the request cannot be read", seen=detail, do=_SEE_OPENAPI)
    LOG.warning("%s %s", request.scope["nadirfix.request_id"], one_line(refusal))
    return error_response(refusal)


def _retry_after_s(error: NadirfixError) -> int:
    return error.retry_after_s if isinstance(error, Busy) else RETRY_S
