"""`python -m headrace.cli` is `headrace`."""

from headrace.cli import main

main()
