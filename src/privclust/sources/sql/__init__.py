"""Results of SQL queries as tables, read through ADBC."""
