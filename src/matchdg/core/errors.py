"""Errors and warnings about what a user gave. The command line prints them without a traceback, exit code 2."""


class InputError(ValueError):
    """Something given is wrong. The message says what was got, what was expected and what to do."""


class DivergedError(InputError):
    """Numbers that a network computed are NaN, infinite or far too large."""


class OutputError(InputError):
    """Something could not be written. What was written before is whole and stays."""


class InputWarning(UserWarning):
    """Something given is unusual, and is worked with as the message says."""
