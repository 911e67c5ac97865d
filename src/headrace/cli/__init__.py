"""The command line. Talks to brokers as any Kafka client does; only `serve` builds a broker.

This file stays almost empty, since every broker process imports it: `serve` must not pay for typer and rich.
"""

import sys


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        from headrace.cli.run.serve import main as serve

        sys.exit(serve(sys.argv[2:]))
    if sys.argv[1:2] in (["--version"], ["-V"]):
        from headrace import __version__

        print(f"headrace {__version__}")
        return
    from headrace.cli.app import run

    sys.exit(run(sys.argv[1:]))
