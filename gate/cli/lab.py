"""`gate lab`: experiments on a corpus, each with tables, plots and a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from msgspec import inspect, structs
from rich.progress import Progress as Bars
from rich.text import Text

from gate.archive.files import FileSelection, Order
from gate.archive.parts import ArchivedEvent, SourceOptions
from gate.archive.source import Source
from gate.cli import controlled_files, show, tables
from gate.cli.common import emit, set_resume_hint
from gate.cli.groups import HELP_WIDTH
from gate.cli.progress import ProblemLog, progress
from gate.config.profiles import resolve_profile
from gate.config.sources import describe_type, quote
from gate.core.profile import Profile
from gate.errors import ConfigError
from gate.lab import corpora, draw, report
from gate.lab.experiment import ExperimentOptions
from gate.lab.experiments import EXPERIMENTS
from gate.lab.truth import Corpus
from gate.limits import Limits
from gate.numbers import counted
from gate.wire import CheckInEvent, RejectedMessage

T = TypeVar("T")
_LEADING_POINT = re.compile(r"^\.(?=\d)")  # .95 is a number to people

_LINES = (".jsonl", ".ndjson")
OptionsT = TypeVar("OptionsT", bound=ExperimentOptions)


@dataclass(frozen=True, slots=True)
class Bar:
    """The progress of an experiment on a terminal, one bar for each thing it does."""

    bars: Bars

    def __call__(self, items: Sequence[T], what: str) -> Iterator[T]:
        task = self.bars.add_task(what, total=len(items), documents=0)
        try:
            for number, item in enumerate(items, 1):
                yield item
                self.bars.update(task, completed=number, documents=number)
        finally:  # an experiment may stop half-way
            self.bars.remove_task(task)


def corpus_of(path: Path, labels: Sequence[Path] = (), *, limits: Limits | None = None) -> Corpus:
    """A folder of texts or of anything that an archive may hold, a set with its labels, or a file of JSON Lines."""
    if corpora.is_corpus_folder(path):
        corpus = corpora.read_folder(path)
    elif not path.exists():
        raise ConfigError(f"corpus: there is no {path}; name a folder of texts, or a file of JSON Lines")
    elif path.suffix in _LINES and not _holds_events(path):
        corpus = corpora.read_json_lines(path, name=path.stem)
    else:
        corpus = _archive(path, limits or Limits())
    return corpora.add_labels(corpus, labels) if labels else corpus


def _holds_events(path: Path) -> bool:
    """Whether the first line is an event of the gate, rather than a document of a set."""
    line = next((line for line in corpora.iterate_lines(path) if line.strip()), b"{}")
    try:
        first = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise ConfigError(f"{path}: is not JSON Lines; give one object per line with `id` and `text`") from exc
    return isinstance(first, dict) and "document_id" in first


def _archive(path: Path, limits: Limits) -> Corpus:
    """The check-ins of an archive; another version is a document of its own. What cannot be read is left out."""
    ids: list[str] = []
    texts: list[str] = []
    root = path if path.is_dir() else path.parent  # what is read here is shown to its owner, and sent nowhere
    by_name = FileSelection(order=Order.NAME)  # a copy of the corpus has other dates
    options = SourceOptions(limits=limits, selection=by_name, content_root=root)
    with ProblemLog("left out", bar=progress(quiet=True), hint="") as refused, Source([path], options) as source:
        for result in (item.result for item in source if item is not None):
            problem = result.error if isinstance(result, RejectedMessage) else getattr(result, "problem", None)
            if problem is not None:
                refused.add(problem.code, str(problem))
            elif isinstance(result, ArchivedEvent) and isinstance(result.event, CheckInEvent):
                document = result.event.check_in()
                ids.append(show.versioned(document.document_id, document.version))
                texts.append(document.text)
    if not ids:
        unread = f"{counted(refused.total(), 'document')}, none of which can be read"
        content = unread if refused.total() else "no document"
        raise ConfigError(f"corpus: {path} holds {content}; name a folder of plain texts, or a file of JSON Lines")
    return corpora.require_unique_ids(Corpus(path.resolve().name, ids, texts), str(path))


def list_experiments(*, as_json: bool) -> None:
    """List the experiments, and what each repeats."""
    if as_json:
        for experiment in EXPERIMENTS.values():
            emit(
                {
                    "name": experiment.name,
                    "title": experiment.title,
                    "paper": experiment.paper,
                    "repeats": experiment.repeats,
                }
            )
        return
    out = tables.console()
    table = tables.table(out, "experiment", "paper", "repeats", "what it shows")
    for experiment in EXPERIMENTS.values():
        table.add_row(Text(experiment.name, style="bold"), experiment.paper, experiment.repeats, experiment.title)
    out.print(table)


def experiment_command(name: str) -> click.Command:
    """The command of an experiment, with a flag for each of its options."""
    experiment = EXPERIMENTS[name]

    def work(
        *,
        corpus: Path,
        out: Path,
        labels: tuple[Path, ...],
        as_json: bool,
        quiet: bool,
        write: Path | None = None,
        **flags: Any,
    ) -> None:
        options = options_of(experiment.options, flags)
        set_resume_hint("nothing was written; start again with")
        experiment.check(options)
        draw.require_matplotlib()
        documents = corpus_of(corpus, labels)
        experiment.check_corpus(documents)
        report.create_folder(out)
        if write is not None:
            controlled_files.require_empty(write)
        with progress(quiet=quiet or as_json, unit="done") as bars:
            outcome = experiment.run(documents, options, Bar(bars))
        about = report.ReportHeader(
            experiment=experiment, corpus=documents.name, documents=len(documents), options=structs.asdict(options)
        )
        written = report.write_report(outcome, about, out)
        found = [] if write is None else controlled_files.check_in(controlled_files.write(outcome.files, write))
        if as_json:
            emit(
                {"experiment": experiment.name, "files": [str(path) for path in written]}
                | ({} if write is None else {"documents": [structs.asdict(one) for one in found]})
            )
            return
        if write is not None:
            controlled_files.show(found)
        click.echo(
            f"{experiment.title}: {counted(len(outcome.tables), 'table')} and {counted(len(outcome.plots), 'plot')} of "
            f"{counted(len(documents), 'document')}"
        )
        click.echo(f"see {written[0]}")

    repeats = experiment.repeats.rstrip(".")
    command = click.command(
        experiment.name,
        help=f"{experiment.title}.\n\n"
        + (f"{repeats}." if experiment.paper == "-" else f"Repeats {experiment.paper}, {repeats}."),
        short_help=experiment.title if experiment.paper == "-" else f"{experiment.paper}, {experiment.repeats}",
        context_settings={"max_content_width": HELP_WIDTH},
    )(work)
    fixed = [
        click.Option(
            ["--corpus"],
            required=True,
            metavar="DIR|JSONL",
            type=click.Path(path_type=Path),
            help="A folder of texts or of a labelled set, or a file of JSON Lines.",
        ),
        click.Option(
            ["--out"],
            required=True,
            metavar="DIR",
            type=click.Path(path_type=Path, file_okay=False),
            help="Where the report is written; made if it is not there.",
        ),
        click.Option(
            ["--labels"],
            multiple=True,
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="What is known of pairs: columns a, b and jaccard_w3. May be repeated.",
        ),
        click.Option(["--quiet"], is_flag=True, help="No progress."),
        click.Option(["--json", "as_json"], is_flag=True, help="Name the files that were written in JSON."),
    ]
    if experiment.writes:
        option = click.Option(
            ["--write"], metavar="DIR", type=click.Path(path_type=Path, file_okay=False), help=experiment.writes
        )
        fixed.insert(3, option)
    command.params = [*fixed[:3], *map(flag, structs.fields(experiment.options)), *fixed[3:]]
    return command


def flag(field: structs.FieldInfo) -> click.Option:
    """An option of the command line for an option of an experiment. Values are checked all at once, later."""
    return click.Option(
        [f"--{field.name.replace('_', '-')}", field.name],
        metavar=_metavar(field),
        help=f"{_description(field)} Default: {report.format_option(field.default)}.",
    )


def _metavar(field: structs.FieldInfo) -> str:
    if _lists_profiles(field):
        return "NAME,FILE,..."
    info = _bare(field)
    match info.item_type if isinstance(info, inspect.VarTupleType) else info:
        case inspect.LiteralType(values=values):
            word = "|".join(map(str, values))
        case inspect.BoolType():
            word = "true|false"
        case inspect.IntType() | inspect.FloatType():
            word = "N"
        case _:
            word = "TEXT"
    return f"{word},..." if _is_list(field) else word


def _is_list(field: structs.FieldInfo) -> bool:
    return isinstance(_bare(field), inspect.VarTupleType)


def _lists_profiles(field: structs.FieldInfo) -> bool:
    info = _bare(field)
    return isinstance(info, inspect.VarTupleType) and getattr(info.item_type, "cls", None) is Profile


def _profiles(names: Any, problems: list[str]) -> tuple[Profile, ...]:
    profiles = []
    for name in names:
        try:
            profiles.append(resolve_profile(name))
        except ConfigError as exc:
            problems += exc.problems
    return tuple(profiles)


def _bare(field: structs.FieldInfo) -> inspect.Type:
    info = inspect.type_info(field.type)
    return info.type if isinstance(info, inspect.Metadata) else info


def _description(field: structs.FieldInfo) -> str:
    info = inspect.type_info(field.type)
    schema = (info.extra_json_schema or {}) if isinstance(info, inspect.Metadata) else {}
    return str(schema.get("description", ""))


def options_of(kind: type[OptionsT], flags: Mapping[str, str | None]) -> OptionsT:
    """Options out of flags; ConfigError holds every problem."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for field in structs.fields(kind):
        text = flags.get(field.name)
        if text is None:
            continue
        parts = [_LEADING_POINT.sub("0.", part.strip()) for part in text.split(",") if part.strip()]
        raw: object = parts if _is_list(field) else _LEADING_POINT.sub("0.", text)
        if _lists_profiles(field):
            values[field.name] = _profiles(raw, problems)
            continue
        try:
            values[field.name] = msgspec.convert(raw, field.type, strict=False)
        except msgspec.ValidationError:
            name = field.name.replace("_", "-")
            problems.append(f"--{name}: {quote(text)} is not allowed; {_domain(field)}")
    if problems:
        raise ConfigError(*problems)
    return kind(**values)


def _domain(field: structs.FieldInfo) -> str:
    info = _bare(field)
    if isinstance(info, inspect.VarTupleType):
        return f"{describe_type(info.item_type)}; several are separated by commas"
    return describe_type(info)
