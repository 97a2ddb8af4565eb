"""The least that a service can do with a check-in: a starlette endpoint that parses the body and answers a constant.

`python -m load.bare_http --port PORT`, for `load.bench_http`.
"""

from __future__ import annotations

import argparse

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gate.http.messages import CheckInRequest

ANSWER = msgspec.json.encode({"verdict_id": "0" * 32, "matches": [], "padding": "x" * 400})  # as long as a verdict
_decoder = msgspec.json.Decoder(CheckInRequest)


async def judge(request: Request) -> Response:
    _decoder.decode(await request.body())
    return Response(ANSWER, media_type="application/json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    routes = [Route(path, judge, methods=["POST"]) for path in ("/v1/check-ins", "/v1/previews")]
    routes.append(Route("/readyz", lambda request: Response(b"{}", media_type="application/json")))
    uvicorn.run(Starlette(routes=routes), port=port, http="httptools", access_log=False, log_level="error")


if __name__ == "__main__":
    main()
