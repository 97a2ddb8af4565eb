"""A child process that extracts texts, one after another, within limits that the system enforces.

It limits costs. It is no sandbox: a library that is taken over may do what the user of the process may do, apart from
writing files.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from msgspec import structs

from gate.errors import BadDocument
from gate.extract.formats import extract_text
from gate.extract.limits import ExtractLimits
from gate.extract.messages import READY, Request, Response, pack, read_request
from gate.extract.process_limits import address_space_bytes, limit_process, limit_work
from gate.extract.text_of import ExtractedText


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when its children end
    requests, responses = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not be taken for a response
    limit_process()
    memory_at_start = address_space_bytes()
    responses.write(READY)
    responses.flush()
    while (request := read_request(requests)) is not None:
        limits = request.options.limits
        limit_work(cpu_seconds=limits.cpu_seconds, memory_bytes=memory_at_start + limits.memory_bytes)
        response = _respond(request)
        is_last = response.is_last or address_space_bytes() - memory_at_start > limits.memory_bytes // 2
        if is_last:
            response = Response(
                extracted=response.extracted, code=response.code, message=response.message, is_last=True
            )
        responses.write(pack(response))
        responses.flush()
        if is_last:
            return


def _respond(request: Request) -> Response:
    limits = request.options.limits
    try:
        extracted = extract_text(_read(request), request.options)
        return Response(extracted=_checked(extracted, limits))
    except BadDocument as exc:
        return Response(code=exc.code, message=str(exc))
    except OSError as exc:
        return Response(code="unreadable", message=f"cannot be read: {exc.strerror or type(exc).__name__}")
    except MemoryError:
        return Response(code="too_costly", message=costs_memory(limits), is_last=True)
    except RecursionError:
        return Response(code="bomb", message="is nested too deep to be read", is_last=True)
    except Exception as exc:  # noqa: BLE001 - libraries fail in ways of their own; one file must not end the others
        return Response(code="damaged", message=f"cannot be read as what it seems to be ({type(exc).__name__})")


def _read(request: Request) -> bytes:
    if request.path is None:
        data = request.data
    else:
        with Path(request.path).open("rb") as file:
            data = file.read(request.options.limits.max_file_bytes + 1)
    if len(data) > request.options.limits.max_file_bytes:
        most = request.options.limits.max_file_bytes
        raise BadDocument("too_large", f"has more than {most:,} bytes; raise extract.max_file_bytes to read it")
    return data


def _checked(extracted: ExtractedText, limits: ExtractLimits) -> ExtractedText:
    """Surrogates that stand alone cannot be sent, nor be judged."""
    text = extracted.text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode(errors="replace").decode()
    title = extracted.title and extracted.title[: limits.max_chars].encode(errors="replace").decode()
    return structs.replace(extracted, text=text, title=title)


def costs_memory(limits: ExtractLimits) -> str:
    return f"needs more than {limits.memory_bytes:,} bytes of memory to read; raise extract.memory_bytes"


if __name__ == "__main__":
    main()
