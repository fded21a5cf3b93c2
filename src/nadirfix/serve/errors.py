"""Errors as answers: the client reads what to do, the log what happened."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from starlette.responses import Response

from nadirfix.errors import NadirfixError, ServiceError
from nadirfix.serve.options import RETRY_S
from nadirfix.serve.queue.work_queue import Busy

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.requests import Request

__all__ = ["LOG", "add_handlers", "answer", "explained", "internal", "one_line"]

LOG = logging.getLogger("nadirfix.serve")

_LOOK = "look at /openapi.json"


def answer(error: NadirfixError, *, headers: dict[str, str] | None = None) -> Response:
    """The answer that tells of an error."""
    content = json.dumps({"error": error.to_dict()}, ensure_ascii=True)
    more = {"Retry-After": str(_retry_after_s(error))} if error.http_status in (429, 503) else {}
    if error.code == "service.token":
        more["WWW-Authenticate"] = 'Bearer realm="nadirfix"'
    if error.code == "service.slow":
        more["Connection"] = "close"  # the rest of that body will not come either
    return Response(content, error.http_status, {**more, **(headers or {})}, "application/json")


def explained(error: NadirfixError, request_id: str) -> NadirfixError:
    """The error as the client may see it: faults on our side go to the log, with what they tell of it."""
    ours = error.http_status >= 500 and not isinstance(error, ServiceError)
    LOG.log(logging.ERROR if ours else logging.WARNING, "%s %s [%s]", request_id, one_line(error), error.code)
    return internal(request_id) if ours else error


def internal(request_id: str) -> NadirfixError:
    """What a client is told about a fault of ours."""
    return NadirfixError(
        "internal.error",
        "nadirfix did not expect this",
        seen=f"request {request_id}",
        do="report it with this number; the service's log has the details",
    )


def one_line(text: object) -> str:
    """Text that cannot pretend to be another line of the log."""
    return "".join(c if c.isprintable() else "�" for c in str(text))


def add_handlers(app: FastAPI) -> None:
    """Have every error of the application answered in the same form."""
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

    app.add_exception_handler(NadirfixError, _of_ours)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _of_routing)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _of_parameters)  # type: ignore[arg-type]


async def _of_ours(request: Request, error: NadirfixError) -> Response:
    return answer(explained(error, request.scope["nadirfix.request_id"]))


async def _of_routing(request: Request, error: HTTPException) -> Response:
    seen = f"{request.method} {request.url.path[:100]}"
    if error.status_code == 405:
        found = ServiceError("service.method", "this path does not know the method", seen=seen, do=_LOOK)
    else:
        found = ServiceError("service.not_found", "there is nothing here", seen=seen, do=_LOOK)
    return answer(found, headers=dict(error.headers or {}))


async def _of_parameters(request: Request, error: RequestValidationError) -> Response:
    """A path with a number that is none leads nowhere; a bad parameter is a bad request."""
    first = error.errors()[0]
    seen = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    if first["loc"][0] == "path":
        found = ServiceError("service.not_found", "there is nothing here", seen=seen, do=_LOOK)
    else:
        found = ServiceError("service.request", "the request cannot be read", seen=seen, do=_LOOK)
    LOG.warning("%s %s", request.scope["nadirfix.request_id"], one_line(found))
    return answer(found)


def _retry_after_s(error: NadirfixError) -> int:
    return error.retry_after_s if isinstance(error, Busy) else RETRY_S
