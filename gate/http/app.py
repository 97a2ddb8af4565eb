"""The service as an ASGI application: what surrounds every operation.

host, origin ──▶ path, method ──▶ token ──▶ room ──▶ body ──▶ operation ──▶ answer
  421, 403        404, 405      401, 403  429, 503  408, 413,  4xx, 503
                                                    415, 422
The files of the page are no operations: they hold nothing of documents, and need no token.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.exceptions import HTTPException
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from gate.errors import GateError
from gate.http import problems
from gate.http.access import AccessPolicy, RequestHeaders, read_headers
from gate.http.admission import Admission
from gate.http.bodies import BodyReader, Disconnected
from gate.http.calls import Call, Text
from gate.http.operations import OPERATIONS, Operation
from gate.http.page_files import PageFile, read_page
from gate.http.problems import CLOSE, RequestError
from gate.http.service import Handler, Service
from gate.http.service_metrics import ServiceMetrics
from gate.http.settings import ServiceSettings
from gate.http.tokens import Token

Header = tuple[bytes, bytes]

# A page gets scripts, styles and data from here alone, is in no frame, and sends no form anywhere.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS: tuple[Header, ...] = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_NOT_STORED: Header = (b"cache-control", b"no-store")
_REVALIDATED: Header = (b"cache-control", b"no-cache")  # kept by the browser, and asked for again by its ETag
LINGER_SECONDS = 2.0
_JSON = b"application/json"
_encoder = msgspec.json.Encoder()

Answer = tuple[int, tuple[Header, ...], bytes]


class ServiceApp:
    """Routes requests to the operations, and answers what is for none of them."""

    def __init__(
        self,
        service: Service,
        *,
        settings: ServiceSettings,
        access: AccessPolicy,
        metrics: ServiceMetrics,
    ) -> None:
        self._access = access
        self._metrics = metrics
        admission = Admission(settings, metrics)
        paths: dict[str, dict[str, _Endpoint]] = {}
        for operation in OPERATIONS:
            handler = service.handler(operation.name)
            paths.setdefault(operation.path, {})[operation.method] = _Endpoint(
                operation, handler, service, settings=settings, access=access, admission=admission, metrics=metrics
            )
        routes = [Route(path, endpoint=_ByMethod(endpoints), methods=[*endpoints]) for path, endpoints in paths.items()]
        routes += [Route(path, endpoint=_PageEndpoint(page), methods=["GET"]) for path, page in read_page().items()]
        self._router = Router(routes, redirect_slashes=False, default=_not_found)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()
        headers = read_headers(scope["headers"])
        try:
            self._access.check_host(headers)
            # As it was sent: a slash within a document id is %2F, and stays apart from those between the segments.
            scope["path"] = scope["raw_path"].decode("latin-1")
            scope["app"] = self
            scope["gate.headers"], scope["gate.begun"] = headers, begun
            await self._router(scope, receive, send)
        except RequestError as error:
            answer = problem_answer(error)
        except HTTPException as error:
            answer = problem_answer(_wrong_method(error))
        else:
            return
        await respond(send, answer)
        self._metrics.record_request("none", answer[0], time.perf_counter() - begun)


class _ByMethod:
    """The operations of one path. The router has checked the method."""

    def __init__(self, endpoints: dict[str, _Endpoint]) -> None:
        self._endpoints = endpoints
        if "GET" in endpoints:
            self._endpoints = endpoints | {"HEAD": endpoints["GET"]}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._endpoints[scope["method"]](scope, receive, send)


class _PageEndpoint:
    """Answers the requests for one file of the page."""

    def __init__(self, page: PageFile) -> None:
        etag = (b"etag", page.etag.encode())
        headers = _headers(page.media_type.encode(), len(page.body), cached=_REVALIDATED)
        self._etag = page.etag
        self._whole: Answer = (200, (*headers, etag), page.body)
        self._unchanged: Answer = (304, (_REVALIDATED, etag, *SECURITY_HEADERS), b"")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: RequestHeaders = scope["gate.headers"]
        await respond(send, self._unchanged if self._etag in headers.if_none_match else self._whole)


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    raise RequestError("unknown_path", "there is nothing at this path; /openapi.json lists what there is")


def _wrong_method(error: HTTPException) -> RequestError:
    """Of the router: it knows the path, and not the method."""
    allowed = (error.headers or {}).get("Allow", "")
    return RequestError(
        "wrong_method", f"this path takes {allowed}; use one of them", headers=((b"allow", allowed.encode()),)
    )


class _Endpoint:
    """Answers the requests for one operation."""

    def __init__(
        self,
        operation: Operation,
        handler: Handler,
        service: Service,
        *,
        settings: ServiceSettings,
        access: AccessPolicy,
        admission: Admission,
        metrics: ServiceMetrics,
    ) -> None:
        self._operation = operation
        self._handler = handler
        self._settings = settings
        self._access = access
        self._admission = admission
        self._metrics = metrics
        takes_body = operation.body is not None or operation.form
        self._body = BodyReader(operation, service.parts) if takes_body else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(scope, receive)
        except RequestError as error:
            answer = problem_answer(error)
        except GateError as error:
            answer = problem_answer(problems.of_error(error))
        except Disconnected:
            return
        except Exception as exc:  # noqa: BLE001 - the outermost frame of a request: the service answers the next one
            self._metrics.log_request_failed(self._operation.name, exc)
            answer = problem_answer(RequestError("internal", "an error of the service; its log has the place"))
        await respond(send, answer, unread=receive if CLOSE in answer[1] else None)
        self._metrics.record_request(self._operation.name, answer[0], time.perf_counter() - scope["gate.begun"])

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        headers: RequestHeaders = scope["gate.headers"]
        token = self._access.authorize(headers, self._operation.scope)
        if self._operation.scope is None:  # what says whether the service works has to answer when it is full
            return self._encode(await self._handler(self._call(scope, headers, None, token)))
        client = scope["client"]
        with self._admission.admit(token.name if token else client[0] if client else "") as admitted:
            received = False
            deadline = asyncio.timeout(self._settings.receive_seconds)
            try:
                async with deadline:
                    raw = await self._body.receive(headers, receive, admitted) if self._body else b""
                    received = True
                    deadline.reschedule(asyncio.get_running_loop().time() + self._settings.answer_seconds)
                    body = await self._body.decode(raw, headers) if self._body else None
                    call = self._call(scope, headers, body, token, hold=admitted.hold)
                    return self._encode(await self._handler(call))
            except TimeoutError:
                if not deadline.expired():
                    raise
                raise self._late(received) from None

    def _late(self, received: bool) -> RequestError:
        if received:
            return RequestError(
                "timeout",
                f"no answer within {self._settings.answer_seconds:g} s (api_answer_seconds); send it again: what was "
                "judged meanwhile gets the same verdict",
                retry_after=problems.MAX_RETRY_SECONDS,
            )
        seconds = self._settings.receive_seconds
        return RequestError(
            "slow_body", f"the body took over {seconds:g} s (api_receive_seconds); send it faster", closes=True
        )

    def _call(
        self,
        scope: Scope,
        headers: RequestHeaders,
        body: object,
        token: Token | None,
        *,
        hold: Callable[[int], None] = lambda size: None,
    ) -> Call:
        return Call(
            path=scope["path_params"],
            query=self._query(scope["query_string"]),
            body=body,
            accept=headers.accept,
            token=token,
            hold=hold,
        )

    def _query(self, query_string: bytes) -> Any:
        if self._operation.query is None:
            return None
        pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)
        given = dict(pairs)
        if len(given) < len(pairs):
            raise RequestError("bad_parameter", "a parameter is given twice; give each once")
        try:
            return msgspec.convert(given, self._operation.query, strict=False)
        except msgspec.ValidationError as exc:
            raise problems.of_invalid(exc, where="parameter") from None

    def _encode(self, answer: object) -> Answer:
        if isinstance(answer, Text):
            return 200, _headers(answer.media_type.encode(), len(answer.body)), answer.body
        status = 503 if self._operation.unready and not getattr(answer, "ready", True) else 200
        body = _encoder.encode(answer)
        return status, _headers(_JSON, len(body)), body


def _headers(media_type: bytes, length: int, *, cached: Header = _NOT_STORED) -> tuple[Header, ...]:
    return ((b"content-type", media_type), (b"content-length", b"%d" % length), cached, *SECURITY_HEADERS)


def problem_answer(error: RequestError) -> Answer:
    body = _encoder.encode(error.problem())
    return int(error.status), (*_headers(problems.MEDIA_TYPE.encode(), len(body)), *error.headers), body


async def respond(send: Send, answer: Answer, *, unread: Receive | None = None) -> None:
    """Send an answer. `unread`: the connection closes, though more of the request may come.

    To close while the client still sends would reset the connection, and the client might never read the answer: so
    what comes is dropped, for a while."""
    status, headers, body = answer
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if unread is not None:
        await send({"type": "http.response.body", "body": body, "more_body": True})
        body = b""
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while (await unread()).get("more_body", False):
                    pass
    await send({"type": "http.response.body", "body": body})
