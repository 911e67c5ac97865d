"""Rules for every test of this repository: under CI=true a test that skips has failed, since nobody would notice it; and a
slow machine makes none fail."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

CI = os.environ.get("CI") == "true"


def pytest_configure():
    # A shell starts its background jobs deaf to Ctrl-C, and so would be every process that a test starts and interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # No test is about how fast the machine is.
    settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("patient")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    return _failed_if_skipped(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    report = yield
    return _failed_if_skipped(report)


def _failed_if_skipped(report):
    # An expected failure is reported as skipped too, and is fine.
    if CI and report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which fails under CI=true: {report.longrepr}"
    return report
