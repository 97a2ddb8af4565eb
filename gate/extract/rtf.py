"""RTF: Word, WordPad and the bodies of Outlook."""

from __future__ import annotations

from striprtf.striprtf import rtf_to_text

from gate.extract.text_of import ExtractedText, ReadOptions, TextParts, damaged


def read_rtf(data: bytes, options: ReadOptions) -> ExtractedText:
    text = TextParts(options.limits.max_chars)
    try:
        # RTF is ASCII by definition; stray bytes are of the code page that the file names, cp1252 where it names none.
        text.add(
            rtf_to_text(  # type: ignore[no-untyped-call]
                data.decode("cp1252", errors="replace"), errors="ignore"
            )
        )
    except (ValueError, LookupError, IndexError, KeyError, OverflowError) as exc:
        raise damaged("RTF file") from exc
    return ExtractedText(text=str(text), format="RTF")
