"""The target of `gate dedupe`: judges documents within a run, and notes the verdict on each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from gate.api import Gate
from gate.archive.dedupe_state import DedupedDocument, DedupeState
from gate.archive.journal import Checkpoint
from gate.archive.replay import ReplayItem, ReplayTarget
from gate.archive.replay_stats import ReplayStats
from gate.index.protocol.outcome import Claim
from gate.model import CheckIn, Verdict
from gate.pipeline import SignedBatch, batches
from gate.wire import CheckInEvent


def _seconds(date: datetime) -> float:
    return (date if date.tzinfo is not None else date.replace(tzinfo=UTC)).timestamp()


_encode_claim = msgspec.msgpack.Encoder().encode
_decode_claim = msgspec.msgpack.Decoder(Claim).decode


class DedupeTarget(ReplayTarget):
    """Documents are known to the index of the run by their numbers. `against` is looked at and left as it is: what is
    similar to something in it is a copy of that, and no later document is compared with it."""

    def __init__(
        self, gate: Gate, state: DedupeState, stats: ReplayStats, *, against: Gate | None, keeps_claims: bool
    ) -> None:
        self._gate = gate
        self._state = state
        self._stats = stats
        self._against = against
        self._keeps_claims = keeps_claims

    def restore(self) -> None:
        """Fill the index of the run again with what was judged before it was interrupted."""
        for page in self._state.claims():
            claims = [_decode_claim(claim) for claim in page]
            self._gate.check_in_signed(SignedBatch(claims, [0] * len(claims)))

    def send(self, batch: Sequence[ReplayItem]) -> list[Checkpoint]:
        documents: list[CheckIn] = []
        events: dict[int, CheckInEvent] = {}
        for archived, checkpoint in batch:
            if archived is None or not isinstance(event := archived.event, CheckInEvent):
                continue
            number = self._state.number(checkpoint.file_key, checkpoint.line)
            events[number] = event
            documents.append(
                CheckIn(
                    document_id=str(number),
                    text=event.text or "",
                    content_sha256=event.content_sha256,
                    unreadable_reason=event.unreadable_reason,
                )
            )
        valid, refused = self._gate.validate(documents)
        for refusal in refused:
            self._stats.dead_lettered[refusal.error.code] += 1
        for part in batches(valid, self._gate.limits):
            self._state.add(self._judge(part, events))
        self._stats.sent += len(valid)
        return [item.checkpoint for item in batch]

    def _judge(self, documents: list[CheckIn], events: dict[int, CheckInEvent]) -> list[DedupedDocument]:
        signed = self._gate.signer.sign(documents, at=time.time())
        rows: list[DedupedDocument] = []
        if self._against is not None:
            verdicts = self._against.preview_signed(signed)
            rows += [
                self._row(verdict, events, family=None, like=verdict.matches[0].document_id)
                for verdict in verdicts
                if verdict.similar
            ]
            unlike = [place for place, verdict in enumerate(verdicts) if not verdict.similar]
            signed = SignedBatch([signed.claims[one] for one in unlike], [signed.features[one] for one in unlike])
        verdicts = self._gate.check_in_signed(signed)
        known = self._known(verdicts, events)
        for claim, verdict in zip(signed.claims, verdicts):
            number = int(verdict.document_id)
            family, like = number, None
            if verdict.similar:
                family = known[int(verdict.group)][1]
                like = known[int(verdict.matches[0].document_id)][0]
                known[number] = (known[number][0], family)
            packed = _encode_claim(claim) if self._keeps_claims else None
            rows.append(self._row(verdict, events, family=family, like=like, claim=packed))
        return rows

    def _known(self, verdicts: Sequence[Verdict], events: dict[int, CheckInEvent]) -> dict[int, tuple[str, int]]:
        """The ids and families of what the verdicts name; documents of the batch are families of their own at first."""
        known = {
            int(one.document_id): (events[int(one.document_id)].document_id, int(one.document_id)) for one in verdicts
        }
        named = {int(name) for one in verdicts if one.similar for name in (one.group, one.matches[0].document_id)}
        for number, (document_id, family) in self._state.known(named - known.keys()).items():
            known[number] = (document_id, number if family is None else family)
        return known

    def _row(
        self,
        verdict: Verdict,
        events: dict[int, CheckInEvent],
        *,
        family: int | None,
        like: str | None,
        claim: bytes | None = None,
    ) -> DedupedDocument:
        number = int(verdict.document_id)
        event = events[number]
        self._stats.count_verdict(verdict.relation, like or "", similar=False)
        dated = event.checked_in_at
        return DedupedDocument(
            number=number,
            id=event.document_id,
            family=family,
            relation=verdict.relation,
            like=like,
            resemblance=verdict.matches[0].resemblance if verdict.matches else None,
            dated=None if dated is None else _seconds(dated),
            length=len(event.text or ""),
            size=event.size_bytes if event.size_bytes is not None else event.size,
            claim=claim,
        )

    def drain(self) -> list[Checkpoint]:
        return []

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)
