"""Lake tables: Parquet files, and a record of which of them count. Three formats behind one face."""
