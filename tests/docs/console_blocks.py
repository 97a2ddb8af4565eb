"""Run the commands of a page's console blocks, and show what they print now: `make outputs` rewrites all pages.

In a ```console block `$ ` begins a command, `> ` continues it, and the rest is its output. A shell runs the commands of
all blocks of a page, one after another, in one folder, which is empty at first. A command that ends with ` &` runs in
the background until the page ends. `localhost:9092` is a Kafka broker, `localhost:6379` a Redis server, and
`localhost:8400` a `gate serve --demo`; each is started for a page whose commands name it. A block that cannot be run
has the reason in a comment before it:

    <!-- not run: it takes an hour -->

Commands to type in, whose outputs are not shown, are ```bash blocks.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import PAGES, ROOT, Block, blocks, with_blocks_replaced
from tests.support.brokers import kafka_server
from tests.support.gate_service import service_process
from tests.support.servers import redis_server

KAFKA, REDIS, SERVICE = "localhost:9092", "localhost:6379", "localhost:8400"

_COMMAND = re.compile(r"^\$ (?P<command>.*(?:\n> .*)*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_STOP_SECONDS = 60


def commands(block: Block) -> Iterator[str]:
    """The commands of a block as a page shows them, without the first `$ `."""
    for match in _COMMAND.finditer(block.body):
        yield match["command"]


def servers_needed(text: str) -> set[str]:
    shown = [command for block in blocks(text, "console") if block.reason is None for command in commands(block)]
    return {address for address in (KAFKA, REDIS, SERVICE) if any(address in command for command in shown)}


def with_current_outputs(text: str) -> str:
    """The text of a page, with the outputs that its commands have now."""
    with ExitStack() as stack:
        addresses = {}
        needed = servers_needed(text)
        if KAFKA in needed:
            addresses[KAFKA] = stack.enter_context(kafka_server()).brokers
        if REDIS in needed:
            addresses[REDIS] = f"127.0.0.1:{stack.enter_context(redis_server()).port}"
        if SERVICE in needed:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            service = stack.enter_context(service_process(folder / "log", "--demo"))
            addresses[SERVICE] = service.url.removeprefix("http://")
        shell = stack.enter_context(_shell(addresses))
        return with_blocks_replaced(text, "console", shell.run)


@dataclass(frozen=True)
class _Shell:
    folder: Path
    environment: dict[str, str]
    addresses: dict[str, str]  # of the servers: as a page shows it, and as it is
    background: list[subprocess.Popen[bytes]]

    def run(self, block: Block) -> str:
        """The body of a block with the outputs that its commands have now."""
        if block.reason is not None:
            return block.body
        return "".join(f"$ {command}\n{self._output(command)}" for command in commands(block))

    def _output(self, shown: str) -> str:
        command = shown.replace("\n> ", "\n")
        for address, actual in self.addresses.items():
            command = command.replace(address, actual)
        if command.endswith(" &"):
            self._start(command.removesuffix(" &"))
            return ""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        output = done.stdout
        for address, actual in self.addresses.items():
            output = output.replace(actual, address)
        return output

    def _start(self, command: str) -> None:
        self.background.append(
            subprocess.Popen(
                ["bash", "-c", command],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,  # so that all that the command started can be stopped
            )
        )


@contextmanager
def _shell(addresses: dict[str, str]) -> Iterator[_Shell]:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("GATE_", "XDG_"))}
        environment |= {
            "HOME": home,  # journals of replays are kept there
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        shell = _Shell(Path(folder), environment, addresses, [])
        try:
            yield shell
        finally:
            for process in shell.background:
                os.killpg(process.pid, signal.SIGTERM)
            for process in shell.background:
                process.wait(_STOP_SECONDS)


if __name__ == "__main__":
    for page in [ROOT / name for name in sys.argv[1:]] or PAGES:
        before = page.read_text(encoding="utf-8")
        after = with_current_outputs(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: rewritten")  # noqa: T201 a command of developers
