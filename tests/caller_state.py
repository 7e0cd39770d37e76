"""The state that a library shares with its caller. As a program: what imports change of it."""

import importlib
import json
import locale
import logging
import os
import pkgutil
import random
import signal
import sys
import warnings
from contextlib import suppress

import numpy as np

CHANGEABLE_LOGGERS = (None, "asyncio", "distributed", "tornado", "matplotlib")
"""Loggers whose level, propagation and handlers are compared; None is the root logger."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


def caller_state():
    """Return the caller's state by its name; two states can be compared."""
    umask = os.umask(0)  # The only way to read it is to set it.
    os.umask(umask)
    state = {
        "environment": dict(os.environ),
        "current folder": os.getcwd(),
        "umask": umask,
        "module path": list(sys.path),
        "warning options": list(sys.warnoptions),
        "warning filters": list(warnings.filters),
        "signal handlers": {number: signal.getsignal(number) for number in SIGNALS},
        "signal mask": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "recursion limit": sys.getrecursionlimit(),
        "locale": locale.setlocale(locale.LC_ALL),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "hooks": (sys.excepthook, sys.displayhook),
        "loggers": {name: _logger_state(name) for name in CHANGEABLE_LOGGERS},
        "random": random.getstate(),
        "numpy's random": repr(np.random.get_state()),  # noqa: NPY002
        "numpy's errors": np.geterr(),
    }
    return state | _torch_state() | _hub_state()


def _logger_state(name):
    logger = logging.getLogger(name)
    return logger.level, logger.propagate, list(logger.handlers)


def _torch_state():
    torch = sys.modules.get("torch")
    if torch is None:
        return {}
    return {
        "torch's random": torch.get_rng_state().tolist(),
        "torch's threads": torch.get_num_threads(),
        "torch's determinism": torch.are_deterministic_algorithms_enabled(),
        "torch's gradients": torch.is_grad_enabled(),
        "torch's type": torch.get_default_dtype(),
    }


def _hub_state():
    if "transformers" not in sys.modules:
        return {}
    constants = importlib.import_module("huggingface_hub.constants")
    bars = importlib.import_module("transformers.utils.logging").is_progress_bar_enabled()
    return {"hub offline": constants.HF_HUB_OFFLINE, "progress bars": bars}


def changed_names(before, after):
    """Return the names of what differs between two states, sorted."""
    names = before.keys() | after.keys()
    return sorted(name for name in names if before.get(name) != after.get(name))


def list_modules():
    """Return the names of all modules of the package that are not programs."""
    import tosloc

    modules = pkgutil.walk_packages(tosloc.__path__, "tosloc.")
    return sorted(module.name for module in modules if not module.name.endswith("__main__"))


def main():
    """Import every module after the libraries named by the arguments; print the effects as JSON.

    These are the names of what the modules changed, and the names of all modules of libraries that
    are loaded at the end.
    """
    for library in sys.argv[1:]:
        with suppress(ImportError):
            importlib.import_module(library)
    modules = list_modules()
    before = caller_state()
    for module in modules:
        importlib.import_module(module)
    changes = changed_names(before, caller_state())
    own_packages = ("tosloc", "tests", "__main__")
    libraries = [name for name in sys.modules if name.partition(".")[0] not in own_packages]
    print(json.dumps([changes, libraries]))


if __name__ == "__main__":
    main()
