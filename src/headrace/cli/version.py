"""`headrace version`: ours, and those of the libraries that answer for speed and safety."""

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

from headrace import __version__
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, UnusedBootstrap

LIBRARIES = ("apsw", "cramjam", "crc32c", "uvloop")
# Of the extra `client`: shown where it is installed.
CLIENT = "confluent-kafka"


def version(as_json: AsJson = False, bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Show the version of Headrace, Python and the libraries in use."""
    from headrace.cli.output import show_fields, show_json

    versions = {"headrace": __version__, "python": platform.python_version(), **library_versions()}
    if as_json:
        show_json(versions)
    else:
        show_fields(versions)


def library_versions() -> dict[str, str | None]:
    versions: dict[str, str | None] = {}
    for library in (*LIBRARIES, CLIENT):
        try:
            versions[library] = installed(library)
        except PackageNotFoundError:
            if library != CLIENT:
                versions[library] = None
    return versions
