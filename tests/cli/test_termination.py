"""SIGTERM ends a command in order."""

from __future__ import annotations

import os
import signal

import pytest

from gate.cli.termination import Terminated, terminable


def test_sigterm_is_an_exception_meanwhile_and_what_it_was_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated), terminable():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_second_sigterm_ends_the_process() -> None:
    def handler_after_the_first() -> object:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except Terminated:
            return signal.getsignal(signal.SIGTERM)
        return None

    with terminable():
        assert handler_after_the_first() is signal.SIG_DFL
