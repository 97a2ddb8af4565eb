"""Plain texts in the encodings that programs have written over the years."""

from __future__ import annotations

import pytest

from gate.errors import BadDocument
from gate.extract.encodings import decode, decode_any

TEXTS = {
    "utf-8": "Grüße aus Köln: the lamp of the east gate burns all night, said the keeper.",
    "utf-8-sig": "Grüße aus Köln: the lamp of the east gate burns all night, said the keeper.",
    "utf-16": "Grüße aus Köln: the lamp of the east gate burns all night.",
    "utf-16-le": "The lamp of the east gate burns all night.",
    "utf-16-be": "The lamp of the east gate burns all night.",
    "utf-32": "The lamp of the east gate burns all night.",
    "cp1252": "“Grüße” aus Köln – für 5 €: the lamp of the east gate burns all night, said the keeper.",
    "iso-8859-1": "Les élèves français ont mangé des gâteaux à la crème près de la fenêtre où dormait le bébé.",
    "koi8-r": "Лампа у восточных ворот горит всю ночь, сказал сторож, и никто не пройдёт без слова.",
    "cp1251": "Лампа у восточных ворот горит всю ночь, сказал сторож, и никто не пройдёт без слова.",
    "iso-8859-7": "Το φανάρι της ανατολικής πύλης καίει όλη τη νύχτα, είπε ο φύλακας της πόλης.",
    "shift_jis": "東の門のランプは一晩中燃えている、と番人は言った。言葉なしには誰も通れない。",
    "euc-jp": "東の門のランプは一晩中燃えている、と番人は言った。言葉なしには誰も通れない。",
    "gb18030": "东门的灯彻夜不熄,看守说。没有口令谁也不能通过这里,无论白天还是黑夜。",
    "big5": "東門的燈徹夜不熄,看守說。沒有口令誰也不能通過這裡,無論白天還是黑夜。",
    "euc-kr": "동쪽 문의 등불은 밤새도록 타오른다고 파수꾼이 말했다. 말없이는 아무도 지나갈 수 없다.",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_read_in_the_encoding_it_looks_like(name: str) -> None:
    text = TEXTS[name] * 4
    assert decode(text.encode(name), None) == text


@pytest.mark.parametrize("name", ["koi8-r", "utf-16-be", "cp437"])
def test_the_user_can_name_the_encoding(name: str) -> None:
    text = "ворота" if name != "cp437" else "Grüße"
    assert decode(text.encode(name), name) == text


@pytest.mark.parametrize(
    ("data", "encoding", "code"),
    [(b"\xff\xfe\x00\xd8", None, "bad_encoding"), ("é".encode(), "ascii", "bad_encoding"), (bytes(99), None, "binary")],
)
def test_what_is_no_text_is_refused(data: bytes, encoding: str | None, code: str) -> None:
    with pytest.raises(BadDocument) as caught:
        decode(data, encoding)
    assert caught.value.code == code
    if code == "bad_encoding":
        assert "--encoding" in str(caught.value)


def test_parts_of_mails_are_read_at_any_price() -> None:
    assert decode_any(b"a\0b\xff", "utf-8") == "abÿ"
    assert decode_any("é".encode(), "rot13") == "é"  # an encoding of Python that is none of texts
