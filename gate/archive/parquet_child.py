"""A child process that decodes one Parquet file, within limits, and writes its rows to a pipe as Arrow does.

    python -m gate.archive.parquet_child DESCRIPTOR OPTIONS

A damaged file may crash the library, and a hostile one may declare pages of any size: that costs this process only.
"""

from __future__ import annotations

import os
import signal
import sys

import msgspec

from gate.extract.process_limits import address_space_bytes, limit_process, limit_work

NO_PARQUET, TOO_MUCH_MEMORY = 3, 4  # exit codes
ROWS = 256  # as many as are judged at once
_MAX_BATCH_BYTES = 64 * 2**20
_BUFFER_BYTES = 1 << 20


class ChildOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to read, and within which bounds."""

    columns: tuple[str, ...] | None = None  # those of them that there are; None: all
    cpu_seconds: int
    memory_bytes: int


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when its children end
    descriptor, options = int(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=ChildOptions)
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # the others reserve a gigabyte of address space at once
    import pyarrow
    from pyarrow import ipc, parquet

    pyarrow.set_cpu_count(1)
    rows = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    limit_process()
    memory_bytes = address_space_bytes() + options.memory_bytes
    limit_work(cpu_seconds=options.cpu_seconds, memory_bytes=memory_bytes)
    try:
        file = parquet.ParquetFile(os.fdopen(descriptor, "rb"), pre_buffer=False, buffer_size=_BUFFER_BYTES)
        schema = file.schema_arrow
        columns = None
        if options.columns is not None:
            columns = [name for name in options.columns if name in schema.names]
            schema = pyarrow.schema([schema.field(name) for name in columns])
        with ipc.new_stream(rows, schema) as stream:
            for batch in file.iter_batches(batch_size=ROWS, columns=columns, use_threads=False):
                if batch.nbytes > _MAX_BATCH_BYTES:
                    for row in range(batch.num_rows):
                        stream.write_batch(batch.slice(row, 1))
                else:
                    stream.write_batch(batch)
                limit_work(cpu_seconds=options.cpu_seconds, memory_bytes=memory_bytes)
        rows.flush()
    except MemoryError:
        os._exit(TOO_MUCH_MEMORY)
    except (pyarrow.ArrowException, OSError, ValueError, KeyError):
        os._exit(NO_PARQUET)


if __name__ == "__main__":
    main()
