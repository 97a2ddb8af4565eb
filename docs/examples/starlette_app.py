"""An upload handler that refuses near-duplicates: `uvicorn starlette_app:app`, with GATE_INDEX a path or a URL."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from gate import AsyncGate, CheckIn
from gate.errors import BadDocument, Unavailable


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """One gate for all requests; it never judges on the event loop."""
    async with AsyncGate(index=os.environ["GATE_INDEX"]) as gate:
        app.state.gate = gate
        yield


async def upload(request: Request) -> JSONResponse:
    """201 for a document that passes, 409 with the one that it is like. The same upload again gets the same answer."""
    try:
        text = (await request.body()).decode()
        document = CheckIn(document_id=request.path_params["document_id"], text=text)
        [verdict] = await request.app.state.gate.check_in([document])
    except UnicodeDecodeError:
        return JSONResponse({"error": "send the text in UTF-8"}, 422)
    except BadDocument as exc:
        return JSONResponse({"error": str(exc)}, 422)
    except Unavailable as exc:
        return JSONResponse({"error": str(exc)}, 503, headers={"Retry-After": "1"})
    if not verdict.similar:
        return JSONResponse({"relation": verdict.relation}, 201)
    match = verdict.matches[0]
    return JSONResponse(
        {"relation": verdict.relation, "like": match.document_id, "resemblance": match.resemblance}, 409
    )


app = Starlette(routes=[Route("/documents/{document_id}", upload, methods=["PUT"])], lifespan=lifespan)
