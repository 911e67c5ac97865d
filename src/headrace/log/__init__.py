"""The storage core: one partition's log, and the calculations around it. Plain synchronous code over the disk port."""

from headrace.log.config import LogConfig
from headrace.log.file_range import FileRange
from headrace.log.log import Log
from headrace.log.opening import open_log
from headrace.log.pool import FilePool
from headrace.log.producers import Duplicate, Verdict
from headrace.log.recovery import RecoveryReport
from headrace.log.sync import SyncTicket

__all__ = [
    "Duplicate",
    "FilePool",
    "FileRange",
    "Log",
    "LogConfig",
    "RecoveryReport",
    "SyncTicket",
    "Verdict",
    "open_log",
]
