-- Finds this role's rights on the schema that has the tables, or in which the tables would be created.
SELECT quote_ident(current_user) AS role, quote_ident(coalesce(current_schema(), 'public')) AS place,
    has_schema_privilege(coalesce(current_schema(), 'public'), 'CREATE') AS may_create,
    quote_ident(pg_get_userbyid(relowner)) AS owner, pg_has_role(relowner, 'USAGE') AS is_owner
FROM (VALUES (to_regclass('grants'))) AS wanted (oid)
LEFT JOIN pg_class ON pg_class.oid = wanted.oid;
