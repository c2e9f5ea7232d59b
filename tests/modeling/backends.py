"""The ways to compute our own operations: by NumPy, as compiled loops, and by Numba, where PyTensor compiles."""

import pytensor
from pytensor.compile.mode import Mode

from bayesanno.graph.functions import compile_once

PYTHON = Mode(linker="py", optimizer="fast_compile")
BACKENDS = ("python", "loops")


def compile_in(backend, inputs, outputs):
    """Return a function from inputs to outputs."""
    if backend == "loops":
        return compile_once(inputs, outputs)
    return pytensor.function(inputs, outputs, mode=PYTHON if backend == "python" else "NUMBA")
