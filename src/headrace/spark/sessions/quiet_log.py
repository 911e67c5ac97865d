"""The log of Spark's JVM on stderr: errors only, and of those only the ones that no exception in Python tells.

Spark's own default tells beginners about a library they do not need, and repeats the stack of a failed task up to four
times before its exception arrives. A `log4j2.configurationFile` in SPARK_SUBMIT_OPTS comes after ours and wins.
"""

import os

from headrace.spark.sessions.cache import cache_directory

_LOG_ERRORS = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
logger.task.name = org.apache.spark.executor.Executor
logger.task.level = fatal
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = fatal
logger.write.name = org.apache.spark.sql.execution.datasources.v2
logger.write.level = fatal
logger.stream.name = org.apache.spark.sql.execution.streaming
logger.stream.level = fatal
logger.abort.name = org.apache.spark.util.Utils
logger.abort.level = fatal
"""


def log_options() -> str:
    """The logging option for the JVM's command line."""
    path = cache_directory() / "spark-log4j2.properties"
    if not path.exists() or path.read_text() != _LOG_ERRORS:
        # By a rename: another process may read it at this moment.
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(_LOG_ERRORS)
        partial.replace(path)
    return f"-Dlog4j2.configurationFile={path.as_uri()}"
