"""On which kernels one syncfs proves as much as an fdatasync of every file."""

import pytest

from headrace.broker.disk.syncfs import reports_every_failure


@pytest.mark.parametrize(
    "release",
    ["6.13", "6.13.0", "6.13-rc1", "6.13.0-rc3+", "6.14.0-29-generic", "6.18.44-fc-v595", "7.0", "10.2.1", "6.100.3"],
)
def test_a_kernel_that_tells_of_every_failure(release: str) -> None:
    assert reports_every_failure("Linux", release)


@pytest.mark.parametrize(
    "release",
    [
        "2.6.69-personality",
        "4.18.0-553.el8_10.x86_64",
        "5.7.19",
        "5.8.0",
        "5.14.0-503.11.1.el9_5.x86_64",
        "5.15.167.4-microsoft-standard-WSL2",
        "5.17.0",
        "6.1.0-28-cloud-amd64",
        "6.8.0-49-generic",
        "6.8.0-6.13-backport",
        "6.12.99",
    ],
)
def test_a_kernel_that_keeps_some_to_itself(release: str) -> None:
    assert not reports_every_failure("Linux", release)


@pytest.mark.parametrize("release", ["", "6", "7", "6.x", "v6.13", "fc-6.18", "six.thirteen", "-6.13", "6,18"])
def test_a_version_that_cannot_be_read_is_no_proof(release: str) -> None:
    assert not reports_every_failure("Linux", release)


def test_only_linux_is_known() -> None:
    assert not reports_every_failure("Darwin", "24.1.0")
    assert not reports_every_failure("FreeBSD", "14.2-RELEASE")
