"""Tables of Spark, summed where they are."""
