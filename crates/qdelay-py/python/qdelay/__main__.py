"""`python -m qdelay`: the command."""

import sys

from qdelay._command import main

sys.exit(main())
