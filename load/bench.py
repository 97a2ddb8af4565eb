"""All benchmarks in one go, at sizes that take a few minutes: `python -m load.bench [--quick] [--json]`.

`--quick` asks the same questions of a tenth of the documents; the targets are for the full sizes. Each benchmark
has more options of its own: `python -m load.bench_fingerprint --help`, and so on.
"""

from __future__ import annotations

import argparse
import json

from load import bench_fingerprint, bench_gate, bench_index, bench_methods
from load.measure import CLOCKS, BenchmarkReport


def reports(*, quick: bool, clock: str) -> list[BenchmarkReport]:
    part = 10 if quick else 1
    rounds = 3 if quick else 7
    return [
        bench_fingerprint.run(characters=(1 << 20) // part, rounds=rounds, clock=clock),
        bench_methods.run(characters=(1 << 20) // part, rounds=rounds, clock=clock),
        bench_index.run(count=1_000_000 // part, rounds=rounds, clock=clock),
        bench_gate.run(count=20_480 // part, rounds=rounds + 2, memory_count=50_000 // part, seed=1, clock=clock),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: where other work shares the cores")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    made = reports(quick=arguments.quick, clock=arguments.clock)
    if arguments.json:
        print(json.dumps([report.as_dict() for report in made], indent=2))
        return
    for report in made:
        report.show(as_json=False)
        print()


if __name__ == "__main__":
    main()
