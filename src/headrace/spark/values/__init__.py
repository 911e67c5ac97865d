"""Values of records as columns: JSON or Avro, by a schema."""
