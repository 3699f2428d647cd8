-- Returns two facts about each index of a script: whether its table is so large that a build takes long, and whether
-- the index is valid. The second fact is null if the index is missing, and false if its build was interrupted.
-- $1 indexes; $2 their tables; $3 from how many bytes a table is large
SELECT wanted.index_name,
    coalesce(pg_table_size(to_regclass(wanted.table_name)) > $3 AND pg_class.relkind = 'r', false) AS is_large,
    (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(wanted.index_name)) AS is_valid
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (index_name, table_name, number)
LEFT JOIN pg_class ON pg_class.oid = to_regclass(wanted.table_name)
ORDER BY number;
