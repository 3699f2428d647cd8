SELECT to_regclass('schema_version') IS NOT NULL;
