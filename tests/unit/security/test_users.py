"""Changes of users: a password, a credential of a backup, and what is refused."""

import pytest

from headrace.cluster.entities import ScramCredential
from headrace.cluster.image import Image
from headrace.cluster.store import Change
from headrace.security.credentials import SHA_256, credential_from, salted_password
from headrace.security.users import Alteration, Deletion, Restoration, Upsertion, alter_users, user_credentials
from headrace.wire.codes import ErrorCode

KEPT = credential_from(SHA_256, salted_password(SHA_256, "secret", b"salt", 4_096), b"salt", 4_096)


def altered(image: Image, *wanted: Alteration) -> Image:
    changes = alter_users(image, wanted)
    assert set(changes.refusals.values()) == {None}
    for revision, commit in enumerate(changes.commits, image.revision + 1):
        image = image.apply([Change(key, value, revision) for key, value in commit.puts.items()], revision)
    return image


def test_a_credential_of_a_backup_is_kept_as_it_was() -> None:
    by_password = altered(
        Image(), Upsertion("al", 1, 4_096, b"salt", salted_password(SHA_256, "secret", b"salt", 4_096))
    )
    restored = altered(Image(), Restoration("al", 1, KEPT))
    assert user_credentials(restored, "al") == user_credentials(by_password, "al") == {SHA_256: KEPT}
    assert not altered(restored, Deletion("al", 1)).users


@pytest.mark.parametrize(
    "wrong",
    [
        KEPT._replace(stored_key=KEPT.stored_key[1:]),
        KEPT._replace(server_key=b""),
        KEPT._replace(salt=b""),
        KEPT._replace(iterations=1),
    ],
)
def test_a_credential_that_no_password_fits_is_refused(wrong: ScramCredential) -> None:
    refusal = alter_users(Image(), [Restoration("al", 1, wrong)]).refusals["al"]
    assert refusal is not None and refusal.code == ErrorCode.UNACCEPTABLE_CREDENTIAL


def test_no_secret_is_shown() -> None:
    assert "salt" not in repr(Restoration("al", 1, KEPT)).replace("salted", "")
