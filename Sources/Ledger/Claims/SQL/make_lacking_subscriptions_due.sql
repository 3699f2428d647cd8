-- Makes subscriptions due for a request to Apple if a higher revision was published than the database has. Leaves out
-- the subscriptions of erased players.
-- $1 originals, sorted, each once; $2 revisions
WITH lacking AS (
    SELECT original_transaction_id
    FROM unnest($1::text[], $2::int4[]) AS published (id, revision)
    JOIN subscriptions ON original_transaction_id = published.id AND subscriptions.revision < published.revision
    WHERE NOT EXISTS (SELECT FROM erasures WHERE pseudonym = player_id)
    ORDER BY original_transaction_id
    FOR UPDATE OF subscriptions
)
UPDATE subscriptions
SET due_at = now()
WHERE original_transaction_id = ANY (ARRAY(SELECT original_transaction_id FROM lacking))
RETURNING original_transaction_id;
