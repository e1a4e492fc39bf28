"""The policies under their vendored names: ``carver.roller.policy`` is the package ``carver.policy``."""

import sys

from .. import policy
from ..policy import common, default, tensorcore

# The modules themselves, so that their classes are the same by either name.
for _module in (common, default, tensorcore):
    sys.modules[f"{__name__}.{_module.__name__.rsplit('.', 1)[1]}"] = _module
sys.modules[__name__] = policy
