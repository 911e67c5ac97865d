"""Rules in the store: made once, struck off, a hundred in a commit, and in the image of every broker."""

from headrace.cluster.acl_changes import create_acls, delete_acls
from headrace.cluster.entities import Acl
from headrace.cluster.image import Image
from headrace.cluster.records import acl_key, decode, encode
from headrace.cluster.store import ABSENT, OPERATIONS_MAX, Change, Commit

RULE = Acl(2, "orders", 3, "User:alice", "*", 3, 3)


def applied(image: Image, commits: list[Commit]) -> Image:
    for commit in commits:
        for key, revision in commit.expect.items():
            known = image.acls.get(key.removeprefix("acls/"))
            assert revision == (ABSENT if known is None else known.revision)
        revision = image.revision + 1
        image = image.apply([Change(key, value, revision) for key, value in commit.puts.items()], revision)
    return image


def test_a_rule_reads_back_as_it_was_written() -> None:
    assert decode(acl_key(RULE), encode(RULE), 7) == RULE._replace(revision=7)


def test_every_field_of_a_rule_is_part_of_its_key() -> None:
    others = [
        RULE._replace(**{name: "x" if isinstance(value, str) else value + 1})  # type: ignore[arg-type]
        for name, value in RULE._asdict().items()
        if name != "revision"
    ]
    assert len({acl_key(acl) for acl in (RULE, *others)}) == len(others) + 1
    assert acl_key(RULE._replace(revision=9)) == acl_key(RULE)


def test_the_same_rule_is_made_once() -> None:
    image = applied(Image(), create_acls(Image(), [RULE, RULE]))
    assert [acl._replace(revision=0) for acl in image.acls.values()] == [RULE]
    assert create_acls(image, [RULE]) == []


def test_a_rule_is_struck_off_once() -> None:
    image = applied(Image(), create_acls(Image(), [RULE]))
    without = applied(image, delete_acls(image, [RULE, RULE]))
    assert without.acls == {}
    assert delete_acls(without, [RULE]) == []


def test_commits_have_as_many_rules_as_fit() -> None:
    many = [RULE._replace(name=f"t{number}") for number in range(OPERATIONS_MAX * 2 + 1)]
    commits = create_acls(Image(), many)
    assert [len(commit.puts) for commit in commits] == [OPERATIONS_MAX, OPERATIONS_MAX, 1]
    image = applied(Image(), commits)
    assert [len(commit.puts) for commit in delete_acls(image, many)] == [OPERATIONS_MAX, OPERATIONS_MAX, 1]


def test_an_image_without_a_change_of_rules_keeps_the_very_mapping() -> None:
    image = applied(Image(), create_acls(Image(), [RULE]))
    assert image.apply([Change("controller", None, 9)], 9).acls is image.acls
