"""Types and columns of Panes as those of Spark."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from panes.plan.schema import Schema
from panes.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    MOST_DIGITS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
)

_SPARK: dict[Type, spark.DataType] = {
    BOOLEAN: spark.BooleanType(),
    TINYINT: spark.ByteType(),
    SMALLINT: spark.ShortType(),
    INT: spark.IntegerType(),
    BIGINT: spark.LongType(),
    FLOAT: spark.FloatType(),
    DOUBLE: spark.DoubleType(),
    STRING: spark.StringType(),
    BINARY: spark.BinaryType(),
    DATE: spark.DateType(),
    TIMESTAMP: spark.TimestampType(),
    INTERVAL: spark.DayTimeIntervalType(),
}


def spark_type(type_: Type) -> spark.DataType:
    if type_.item is not None:
        return spark.ArrayType(spark_type(type_.item))
    if type_.fields:
        return spark.StructType([spark.StructField(name, spark_type(field)) for name, field in type_.fields])
    return spark.DecimalType(type_.precision, type_.scale) if type_.is_decimal else _SPARK[type_]


def text_schema(schema: Schema) -> spark.StructType:
    """The types in which text is read. Spark rounds a DECIMAL, so it is read with all digits that there is room
    for; of JSON it takes 128 for a TINYINT of -128."""
    return spark.StructType([spark.StructField(field.name, text_type(field.type)) for field in schema])


def text_type(type_: Type) -> spark.DataType:
    if type_ == TINYINT:
        return spark.ShortType()
    if type_.is_decimal:
        return spark.DecimalType(MOST_DIGITS, MOST_DIGITS - type_.precision + type_.scale)
    return spark_type(type_)


def spark_schema(schema: Schema) -> spark.StructType:
    return spark.StructType([spark.StructField(field.name, spark_type(field.type)) for field in schema])


def column(name: str) -> Column:
    """A column by its name, whatever characters that has."""
    escaped = name.replace("`", "``")
    return F.col(f"`{escaped}`")
