"""README.md can be walked through from its top to its end: no section meets the topics or the settings of another one."""

import re

import imports

README = (imports.ROOT / "README.md").read_text()
UP = re.compile(r"^(?:make up|\S*headrace up)\b(.*)", re.MULTILINE)
DATA = re.compile(r"--data[ =](\S+?)[\"\s]")
OF_AN_UP = re.compile(r"headrace (?:kill|start|stop) \d.*?(?=[`\n])")
MADE = re.compile(r"headrace topic create (\S+)|headrace produce (\w+)")


def sections(text: str) -> list[str]:
    return text.split("\n## ")


def folder(words: str) -> str:
    found = DATA.search(f"{words} ")
    return found[1] if found else "data"


def folders(text: str) -> list[tuple[str, str]]:
    """Each section with the folder of the cluster that it starts, or of the first one."""
    return [(section, folder(up[1]) if (up := UP.search(section)) else "data") for section in sections(text)]


def test_each_cluster_has_a_folder_of_its_own() -> None:
    started = [of for section, of in folders(README) if UP.search(section)]
    assert len(started) == len(set(started)) == 3


def test_a_broker_is_killed_and_started_in_its_own_folder() -> None:
    found = [(each, of) for section, of in folders(README) for each in OF_AN_UP.findall(section)]
    assert len(found) > 2
    assert [each for each, of in found if folder(each) != of] == []


def test_no_two_sections_fill_the_same_topic() -> None:
    found = [{(of, a or b) for a, b in MADE.findall(section)} for section, of in folders(README)]
    assert len(set().union(*found)) == sum(map(len, found)) > 2


def test_the_rules_bite() -> None:
    text = "make up\n\n## A\nheadrace up --brokers 3 --data three\nheadrace kill 1 --data other\n\n## B\nmake up\n"
    assert [of for _, of in folders(text)] == ["data", "three", "data"]
    assert [folder(each) for each in OF_AN_UP.findall(text)] == ["other"]
