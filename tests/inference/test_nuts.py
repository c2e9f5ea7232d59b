"""What nutpie does when it is interrupted or fails: nothing is lost, and nothing is kept."""

import signal

import pytest

import bayesanno as ba
from bayesanno._core.messages import FitError
from tests.samples import SETTINGS, tiny_data


def test_a_panic_of_the_sampler_is_one_clear_error(refuses, monkeypatch):
    import nutpie

    class PanicException(BaseException):
        pass

    class Sampler:
        def wait(self):
            raise PanicException(
                "called `Result::unwrap()`: Invalid initial point\n\nStack backtrace:\n   0: <unknown>"
            )

        def cancel(self):
            raise PanicException("Poisoned sampler state mutex")

    monkeypatch.setattr(nutpie, "sample", lambda *_, **__: Sampler())
    with refuses(FitError, r"nutpie failed \(called .*: Invalid initial point\): try another seed"):
        ba.fit("model_b", tiny_data(), **SETTINGS)


def test_a_sampler_that_is_made_while_it_is_interrupted_does_not_go_on(monkeypatch):
    import nutpie

    made, make = [], nutpie.sample

    def interrupted(*arguments, **settings):
        made.append(make(*arguments, **settings))
        signal.raise_signal(signal.SIGINT)
        return made[-1]

    monkeypatch.setattr(nutpie, "sample", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ba.fit("model_b", tiny_data(), **SETTINGS | {"draws": 10_000_000})
    (sampler,) = made
    try:
        assert sampler.is_finished
    finally:
        sampler.cancel()
