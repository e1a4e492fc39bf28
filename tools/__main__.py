"""``python -m carver.tools`` is ``carver``."""

import sys

from .cli import main

sys.exit(main())
