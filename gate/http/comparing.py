"""The operation that compares two texts, known documents or fingerprints, and says in words what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from msgspec import structs

from gate.core.compare import Comparison, compare, compare_signatures
from gate.core.method_parameters import Fingerprinted
from gate.core.method_registry import method_of
from gate.core.profile import FINGERPRINT_BITS
from gate.core.shared_buckets import shared_buckets
from gate.core.text import content_ids, normalise
from gate.errors import BadDocument
from gate.http.calls import Call, ServiceParts
from gate.http.compare_messages import ComparedSide, CompareRequest, ComparisonReport, SideRequest
from gate.http.comparison_words import measures_of, reasons_of
from gate.http.problems import RequestError
from gate.index.tools.stored_documents import read_stored
from gate.model import CheckIn, Relation
from gate.pipeline import validate_document


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One side, as far as it is known."""

    document_id: str | None = None
    title: str | None = None
    text: str | None = None
    content: bytes | None = None
    body: bytes = b""
    features: int | None = None
    fingerprint: int | None = None  # where only that was given


class Comparing:
    """Two sides side by side."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts

    async def compare(self, call: Call) -> ComparisonReport:
        request: CompareRequest = call.body
        left = await self._side("left", request.left)
        right = await self._side("right", request.right)
        chars, most = len(left.text or "") + len(right.text or ""), self._parts.settings.max_compare_chars
        if chars > most:
            raise RequestError(
                "too_large", f"the texts have {chars} characters together, over api_max_compare_chars = {most}"
            )
        return await self._parts.in_thread(partial(self._report, left, right, passages=request.passages))

    async def _side(self, name: str, asked: str | SideRequest) -> _Side:
        if isinstance(asked, str):
            asked = SideRequest(text=asked)
        given = {"text": asked.text, "document_id": asked.document_id, "fingerprint": asked.fingerprint}
        names = [field for field, value in given.items() if value is not None]
        if len(names) != 1:
            problem = f"{' and '.join(names)} are given" if names else "nothing is given"
            raise RequestError(
                "bad_field", f"{name}: {problem}; give exactly one of text, document_id and fingerprint", field=name
            )
        if asked.text is not None:
            self._require_text(name, asked.text)
            return _Side(text=asked.text)
        if asked.fingerprint is not None:
            return _Side(fingerprint=int(asked.fingerprint, 16))
        return await self._stored_side(name, asked.document_id or "")

    def _require_text(self, name: str, text: str) -> None:
        try:
            validate_document(CheckIn(document_id="?", text=text), self._parts.limits)
        except BadDocument as exc:
            detail = str(exc).replace("text:", f"{name}:", 1)
            raise RequestError(exc.code, detail, field=name) from exc

    async def _stored_side(self, name: str, document_id: str) -> _Side:
        [stored] = await self._parts.gate().with_store(partial(read_stored, document_ids=[document_id]))
        if stored is None:
            raise RequestError(
                "unknown_document",
                f"{name}.document_id: {document_id!r} is not known; give the id of a document that was checked in",
                field=f"{name}.document_id",
            )
        details = stored.details
        return _Side(
            document_id=document_id,
            title=details.title if details else None,
            content=stored.held.content,
            body=stored.body,
        )

    def _by_bits(self, compared: Comparison) -> Comparison:
        """Where a side is a fingerprint only, the distance is all there is to decide by."""
        method = self._parts.profile.method
        near = (
            compared.distance is not None and isinstance(method, Fingerprinted) and compared.distance <= method.radius
        )
        return structs.replace(compared, alike=near, relation=Relation.NEAR if near else Relation.NEW)

    def _report(self, left: _Side, right: _Side, *, passages: bool) -> ComparisonReport:
        """In a thread: signing takes a while."""
        profile, secret, max_features = self._parts.profile, self._parts.secret, self._parts.limits.max_features
        left, right = self._signed(left), self._signed(right)
        if left.text is not None and right.text is not None:
            pair = (left.text, right.text)
            [compared] = compare([pair], profile, secret=secret, max_features=max_features, show_passages=passages)
        else:
            same = left.content is not None and left.content == right.content
            bodies = self._decisive_body(left), self._decisive_body(right)
            compared = compare_signatures(bodies, profile, secret=secret, same_content=same)
        if left.fingerprint is not None or right.fingerprint is not None:
            compared = self._by_bits(_with_fingerprints(compared, left, right))
        prints = compared.fingerprints
        buckets = shared_buckets(method_of(profile, secret), left.body, right.body) if left.body and right.body else []
        met = sum(bucket.met for bucket in buckets)
        whole = left.text is not None and right.text is not None
        return ComparisonReport(
            alike=compared.alike,
            relation=compared.relation,
            left=_described(left, prints[0]),
            right=_described(right, prints[1]),
            measures=measures_of(compared, profile),
            differing_bits=_differing_bits(prints),
            buckets=buckets,
            buckets_met=met,
            would_meet=met > 0,
            passages=compared.passages if passages and whole else None,
            passages_missing=_passages_missing(left, right, asked=passages, keep_text=False),
            reasons=reasons_of(compared, profile, met=met, buckets=len(buckets)),
            distance=compared.distance,
            resemblance=compared.resemblance,
            containment=compared.containment,
            estimated_resemblance=compared.estimated_resemblance,
            estimated_containment=compared.estimated_containment,
            fingerprints=prints,
        )

    def _decisive_body(self, side: _Side) -> bytes:
        """Empty where the gate would not sign a text: it is too short."""
        short = side.features is not None and side.features < self._parts.profile.min_features
        return b"" if short else side.body

    def _signed(self, side: _Side) -> _Side:
        """With the signature of its text; one too short for the gate is signed too, to be measured."""
        if side.text is None:
            return side
        profile, secret = self._parts.profile, self._parts.secret
        method = method_of(
            structs.replace(profile, min_features=1), secret, max_features=self._parts.limits.max_features
        )
        texts = normalise([side.text])
        signed = method.sign(texts)
        return _Side(
            document_id=side.document_id,
            title=side.title,
            text=side.text,
            content=content_ids(texts, secret)[0],
            body=signed.bodies[0],
            features=signed.features[0],
        )


def _with_fingerprints(compared: Comparison, left: _Side, right: _Side) -> Comparison:
    """With a fingerprint that was given in the place of a signature."""
    prints = [
        f"{side.fingerprint:016x}" if side.fingerprint is not None else known
        for side, known in zip((left, right), compared.fingerprints, strict=True)
    ]
    bits = _differing_bits((prints[0], prints[1]))
    return structs.replace(compared, fingerprints=(prints[0], prints[1]), distance=None if bits is None else len(bits))


def _differing_bits(prints: tuple[str | None, str | None]) -> list[int] | None:
    if prints[0] is None or prints[1] is None:
        return None
    differing = int(prints[0], 16) ^ int(prints[1], 16)
    return [bit for bit in range(FINGERPRINT_BITS) if differing >> bit & 1]


def _described(side: _Side, fingerprint: str | None) -> ComparedSide:
    return ComparedSide(
        document_id=side.document_id,
        title=side.title,
        fingerprint=fingerprint,
        chars=None if side.text is None else len(side.text),
        features=side.features,
        has_text=side.text is not None,
    )


def _passages_missing(left: _Side, right: _Side, *, asked: bool, keep_text: bool) -> str | None:
    if left.text is not None and right.text is not None:
        return None if asked else "They were not asked for."
    if left.fingerprint is not None or right.fingerprint is not None:
        return "A fingerprint has no text."
    if keep_text:
        return "The text of a document is no longer kept, or was checked in before texts were."
    return "The service keeps no texts (keep_text_days); give the texts to see what they share."
