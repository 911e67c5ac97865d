"""The built-in Spark jobs. Each is one command of `headrace pipeline`, and one function to import:

    from headrace.pipelines.lake import lake
    report = lake("orders", "./orders-table")

A job plans on the driver what its tasks do (`ranges`, `spark_tasks`), keeps its place where its result is (the table's own
commits, or the target cluster's), and so needs no checkpoint directory: whoever starts it again goes on where it was.
"""
