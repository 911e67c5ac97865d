"""Which release the upgrade starts from: the newest tag with other sources than the working tree's."""

import subprocess
from pathlib import Path

import pytest

from chaos.releases import LANDED, last_release

AUTHOR = [
    "-c",
    "user.name=a",
    "-c",
    "user.email=a@example.com",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "tag.gpgsign=false",
]


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q")

    def git(self, *words: str) -> None:
        subprocess.run(["git", *AUTHOR, *words], cwd=self.folder, check=True)

    def write(self, text: str) -> None:
        (self.folder / "src").mkdir(exist_ok=True)
        (self.folder / "src" / "a.py").write_text(text)

    def commit(self, text: str, tag: str = "") -> None:
        self.write(text)
        self.git("add", "src")
        self.git("commit", "-q", "-m", text)
        if tag:
            self.git("tag", tag)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_without_a_tag_it_is_a_commit_that_landed(repository: Repository) -> None:
    repository.commit("1")
    assert last_release(repository.folder) == LANDED


def test_it_is_the_newest_tag_behind_the_working_tree(repository: Repository) -> None:
    repository.commit("1", "v0.1.0")
    repository.commit("2", "v0.2.0")
    repository.commit("3")
    assert last_release(repository.folder) == "v0.2.0"


def test_a_release_is_not_upgraded_from_itself(repository: Repository) -> None:
    repository.commit("1", "v0.1.0")
    repository.commit("2", "v0.2.0")
    assert last_release(repository.folder) == "v0.1.0"
    repository.write("3")
    assert last_release(repository.folder) == "v0.2.0"
