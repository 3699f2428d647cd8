-- Splits the tables that grow for ever, grants and claims, into hash partitions: see docs/scale.md.
--
--     psql --set ON_ERROR_STOP=1 --file partition.sql URI
--
-- Run it as the owner, after `receiptd migrate`, while no worker runs: it locks and rewrites the tables in one SQL
-- transaction. A second run changes nothing. `receiptd migrate` and all statements work with and without partitions.

BEGIN;
DO $$
DECLARE
    -- The number of partitions of a table. You can later split it evenly if it is a power of two.
    partitions CONSTANT integer := 16;
    whole record;
    found record;
BEGIN
    FOR whole IN SELECT * FROM (VALUES ('grants', 'transaction_id'), ('claims', 'original_transaction_id')) AS t (name, key)
    LOOP
        CONTINUE WHEN (SELECT relkind FROM pg_class WHERE oid = whole.name::regclass) = 'p';
        EXECUTE format('ALTER TABLE %I RENAME TO %I', whole.name, whole.name || '_before');
        EXECUTE format(
            'CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING INDEXES) PARTITION BY HASH (%I)',
            whole.name, whole.name || '_before', whole.key);
        FOR part IN 0..partitions - 1 LOOP
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
                whole.name || '_' || lpad(part::text, 2, '0'), whole.name, partitions, part);
        END LOOP;
        EXECUTE format('INSERT INTO %I SELECT * FROM %I', whole.name, whole.name || '_before');
        -- The new indexes get the names of the old indexes, because migrations use these names.
        FOR found IN
            SELECT index.relname AS name, pg_get_indexdef(index.oid) AS definition, pg_index.indisprimary AS is_key
            FROM pg_index
            JOIN pg_class AS index ON index.oid = pg_index.indexrelid
            WHERE pg_index.indrelid = (whole.name || '_before')::regclass
        LOOP
            EXECUTE format('ALTER INDEX %I RENAME TO %I', found.name, found.name || '_before');
            IF found.is_key THEN
                EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I PRIMARY KEY (%I)', whole.name, found.name, whole.key);
            ELSE
                -- The definition names the old table, `…_before`. This creates the index on the new table.
                EXECUTE replace(found.definition, whole.name || '_before', whole.name);
            END IF;
        END LOOP;
        FOR found IN
            SELECT pg_get_triggerdef(oid) AS definition FROM pg_trigger
            WHERE tgrelid = (whole.name || '_before')::regclass AND NOT tgisinternal
        LOOP
            EXECUTE replace(found.definition, whole.name || '_before', whole.name);
        END LOOP;
        FOR found IN
            SELECT privilege_type AS privilege, grantee, is_grantable
            FROM pg_class, aclexplode(relacl)
            WHERE oid = (whole.name || '_before')::regclass AND grantee <> relowner
        LOOP
            EXECUTE format(
                'GRANT %s ON %I TO %s%s', found.privilege, whole.name,
                CASE found.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(found.grantee)) END,
                CASE WHEN found.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
        END LOOP;
        FOR found IN
            SELECT attname AS name, acl.privilege_type AS privilege, acl.grantee
            FROM pg_attribute, aclexplode(attacl) AS acl
            WHERE attrelid = (whole.name || '_before')::regclass AND NOT attisdropped
        LOOP
            EXECUTE format(
                'GRANT %s (%I) ON %I TO %s', found.privilege, found.name, whole.name,
                CASE found.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(found.grantee)) END);
        END LOOP;
        EXECUTE format('DROP TABLE %I', whole.name || '_before');
    END LOOP;
END
$$;
COMMIT;
ANALYZE grants;
ANALYZE claims;
