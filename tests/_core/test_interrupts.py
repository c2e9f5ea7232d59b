"""Ctrl-C stops what runs, wherever it comes, and leaves nothing half made."""

import signal
import sys
import threading
import time
import weakref
from contextlib import suppress

import pytest

from bayesanno._core.running import hold_interrupts, keep_keyboard_interrupt


def interrupt(*_):
    signal.raise_signal(signal.SIGINT)


class Noticed:
    """Something whose end is noticed."""


def end_of_what_is_referred_to(act=interrupt):
    referred = Noticed()
    reference = weakref.ref(referred, act)
    del referred
    return reference


def test_an_interrupt_that_python_drops_is_sent_again():
    def end_and_go_on():
        with keep_keyboard_interrupt():
            end_of_what_is_referred_to()
            for _ in range(600):
                time.sleep(0.05)

    hook = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt):
        end_and_go_on()
    assert sys.unraisablehook is hook


def test_other_errors_that_python_drops_are_told_of_as_ever(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    with keep_keyboard_interrupt():
        end_of_what_is_referred_to(lambda _: 1 / 0)
    assert [one.exc_type for one in told] == [ZeroDivisionError]


@pytest.mark.parametrize(("fails", "expected"), [(False, KeyboardInterrupt), (True, ZeroDivisionError)])
def test_what_must_be_whole_is_not_cut_in_two(fails, expected):
    done = []

    def work():
        with hold_interrupts():
            interrupt()
            interrupt()
            done.append("whole")
            if fails:
                raise ZeroDivisionError

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(expected):
        work()
    assert done == ["whole"]
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.parametrize("protect", [hold_interrupts, keep_keyboard_interrupt])
def test_other_threads_are_not_interrupted_and_change_nothing(protect):
    found = []

    def run():
        before = signal.getsignal(signal.SIGINT), sys.unraisablehook
        with suppress(ValueError), protect():  # signals can be set in the main thread alone
            found.append((signal.getsignal(signal.SIGINT), sys.unraisablehook) == before)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [True]
