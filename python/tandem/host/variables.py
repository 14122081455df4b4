"""Variables of the environment that turn something on (docs/guide/environment.md)."""

import os

_OFF = ("", "0", "false", "off", "no")


def is_on(*names):
    """Returns true if one of the variables is set to something other than a word for off."""
    return any(os.environ.get(name, "").lower() not in _OFF for name in names)
