-- For each index that a script makes: whether its table exists with so much in it that building takes long, and
-- whether the index does: null where there is none, false where a build was interrupted. $1 indexes; $2 their tables;
-- $3 bytes of a table
SELECT wanted.index_name,
    coalesce(pg_table_size(to_regclass(wanted.table_name)) > $3 AND pg_class.relkind = 'r', false) AS is_large,
    (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(wanted.index_name)) AS is_valid
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (index_name, table_name, number)
LEFT JOIN pg_class ON pg_class.oid = to_regclass(wanted.table_name)
ORDER BY number;
