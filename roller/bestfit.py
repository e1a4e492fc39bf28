"""The allocator under its vendored name: ``carver.roller.bestfit`` is the module ``carver.bestfit``."""

import sys

from .. import bestfit

# The module itself, so that its classes are the same by either name.
sys.modules[__name__] = bestfit
