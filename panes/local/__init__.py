"""The local engine: whole epochs in this process, by the code that runs inside Spark's tasks. For tests."""
