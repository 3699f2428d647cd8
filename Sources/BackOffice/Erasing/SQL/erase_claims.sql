-- Replaces the player in the claims that are in some blocks of the table, which has no index by player. The statement
-- file `erase_grants.sql` handles claims that have a grant of the player. A transfer, or another transaction of a paid
-- period, makes claims without such a grant.
-- $1 player; $2 pseudonym; $3 first block, $4 the first block after these, as tuple ids
WITH locked AS (
    -- Writers lock claims in this order.
    SELECT original_transaction_id
    FROM claims
    WHERE original_transaction_id = ANY (ARRAY(
            SELECT original_transaction_id
            FROM claims
            WHERE player_id = $1 AND ctid >= $3::text::tid AND ctid < $4::text::tid))
        AND player_id = $1
    ORDER BY original_transaction_id
    FOR UPDATE
)
UPDATE claims
SET player_id = $2
FROM locked
WHERE claims.original_transaction_id = locked.original_transaction_id;
