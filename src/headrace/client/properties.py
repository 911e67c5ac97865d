"""Files of client settings, a NAME=VALUE in a line: bootstrap servers, identity and trust, as `kcat -F` reads them too.

    security.protocol=SASL_SSL
    sasl.mechanism=SCRAM-SHA-512
    sasl.username=app
    sasl.password=…
    ssl.ca.location=/etc/headrace/ca.pem

`read_properties` gives librdkafka's names, also for a file in the Java client's spelling. An error names the file and the
line, never a value: it may be a secret.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from headrace.base.errors import UserError
from headrace.client.property_names import KNOWN_NAMES, VARIABLE, is_secret, nearest_name
from headrace.client.security import jaas_login, pem_store

_JAVA = ("sasl.jaas.config", "ssl.truststore.", "ssl.keystore.")
_INLINE = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
}
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_properties(path: str) -> dict[str, str]:
    """The settings of a file by librdkafka's names; UserError for a file, a line or a name that is wrong."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path}: this is not UTF-8 text", "name a file with a NAME=VALUE in each line") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        fix = f"name a file that you may read, with --client-config or {VARIABLE}"
        raise UserError(f"{path}: {reason}", fix) from None
    return as_librdkafka(parse_properties(path, text))


def parse_properties(path: str, text: str) -> dict[str, str]:
    """The settings of a text as they are written, each once."""
    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, name, value in _pairs(path, text):
        if name not in KNOWN_NAMES:
            raise UserError(f"{path}:{number}: there is no setting {name}", nearest_name(name))
        if name in found:
            raise UserError(f"{path}:{number}: {name} stands there twice, first in line {lines[name]}", "leave one out")
        found[name], lines[name] = value, number
    return found


def _pairs(path: str, text: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        name, separator, value = stripped.partition("=")
        if not separator or not name.strip():
            raise UserError(f"{path}:{number}: this line is not NAME=VALUE", "write security.protocol=SASL_SSL, or #")
        yield number, name.strip(), value.strip()


def as_librdkafka(settings: Mapping[str, str]) -> dict[str, str]:
    """The same settings without the Java client's names."""
    told = {name: value for name, value in settings.items() if not name.startswith(_JAVA)}
    jaas = settings.get("sasl.jaas.config")
    # With a token it names a module alone, and no user.
    if jaas and "OAuthBearerLoginModule" not in jaas:
        username, password = jaas_login(jaas)
        told |= {"sasl.username": username, "sasl.password": password}
    if trusted := pem_store(settings, "truststore"):
        told["ssl.ca.location"] = trusted
    if own := pem_store(settings, "keystore"):
        told |= {"ssl.certificate.location": own, "ssl.key.location": own}
    for java, ours in _INLINE.items():
        if java in settings:
            told[ours] = settings[java]
    return told


def path_in_environment() -> str:
    """The file that HEADRACE_CONFIG names, or nothing."""
    return os.environ.get(VARIABLE, "").strip()


def exposure(path: str, settings: Mapping[str, str]) -> UserError | None:
    """A warning with its fix, if the file holds a secret and others than its owner may read it."""
    if not any(map(is_secret, settings)):
        return None
    mode = Path(path).stat().st_mode
    # A pipe (`<(pass show kafka)`) is nobody else's.
    if not stat.S_ISREG(mode) or not mode & _OTHERS:
        return None
    return UserError(f"{path} holds a secret, and others than its owner may read it", f"chmod 600 {path}")
