"""What Roth 2013 reports: the fingerprints of Table 20, and the pairs of its view, for comparison with ours."""

from __future__ import annotations

from gate.lab.experiment import Proportion

BITS = 64

# Table 20, text files: the fingerprint of each control document and of what was found similar to it. `dup` is a copy
# (of us-const under the name const11), i_N and d_N have N % of the words inserted or deleted.
PRINTS = {
    ("sw56gu", ""): "0010101110001010000000000111100111001110011010010010100100101010",
    ("sw56gu", "dup"): "0010101110001010000000000111100111001110011010010010100100101010",
    ("killfile", ""): "1101100111001010100010101100110111110110110100110111001000011110",
    ("killfile", "i_25"): "1101100111001010100010101100110111110110110100110111111000011110",
    ("a16", ""): "1010001110111010010010110001011001110000000110000001110010011110",
    ("a16", "dup"): "1010001110111010010010110001011001110000000110000001110010011110",
    ("a16", "ab88"): "1000001010101010010000110100011000110100000110010001110101011110",
    ("a16", "ba88"): "0010001010111010010010110000011000110000000100010001110101011110",
    ("gettysburg", ""): "0010111101000111000010110011110111010111101001001100000001000001",
    ("gettysburg", "d_1"): "0010111101001111000010110011110111010111101001001100000001010001",
    ("gettysburg", "d_10"): "0010110101001111000010110001110111010111101001001100100001000001",
    ("gettysburg", "d_5"): "0010111101000111000010110011110111011111101001001000100001000001",
    ("gettysburg", "i_1"): "0010111101000111000010110111110111010111101001001100000001010001",
    ("gettysburg", "i_10"): "0010111101000111000010110011110111010111101001001100000001010001",
    ("gettysburg", "i_5"): "0010111101001111000010110011110111010111101001001100100001000001",
    ("us-const", ""): "1111010100011001000011110111100101111010001011110010001010011101",
    ("us-const", "dup"): "1111010100011001000011110111100101111010001011110010001010011101",
    ("us-const", "d_10"): "1100010100011001000011110111100101111010001001110010001010011101",
    ("us-const", "d_5"): "1111010100011001000011110111100101111010001001110010001010011101",
    ("us-const", "i_10"): "1111010100011001000011110111100101111010001011110010001010011101",
    ("us-const", "i_5"): "1111010100011001000011110111100101111010001011110010001010011101",
}
# Files of ours under the paper's names.
ALIASES = {"usconstitution": "us-const", "us-constitution": "us-const", "getty": "gettysburg"}
# 1,279 documents: all their pairs, and the rows of the view from 70 % on. The view joins all documents with all others,
# so it has each pair twice.
DOCUMENTS = 1_279
VIEW_ROWS = 21_864
PAIRS = DOCUMENTS * (DOCUMENTS - 1) // 2
VIEW = Proportion(VIEW_ROWS // 2, PAIRS)


def similarity_of(left: str, right: str) -> float:
    """The share of equal bits of two fingerprints that are written as bits."""
    return 1.0 - (int(left, 2) ^ int(right, 2)).bit_count() / BITS


def fingerprint_of(document: str, variant: str) -> str | None:
    """The paper's, in bits, of a document whose file has the name of one of its own."""
    name = document.rpartition("/")[2].removesuffix(".txt").lower()
    return PRINTS.get((ALIASES.get(name, name), variant))


SIMILARITIES = {
    (control, variant): similarity_of(PRINTS[control, ""], bits)
    for (control, variant), bits in PRINTS.items()
    if variant
}
