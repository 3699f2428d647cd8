-- Sets aside holds that Swift cannot read.
-- $1 transactions, sorted; $2 their leases; $3 the note for an operator; $4 the newest catalog; $5 their players
UPDATE holds
SET catalog_version = greatest(catalog_version, $4), released_at = NULL, due_at = NULL, leased_until = NULL, note = $3,
    takes = 0, is_alone = false, deaths_alone = 0
FROM unnest($1::text[], $2::timestamptz[], $5::text[]) AS unreadable (transaction_id, lease, player_id)
WHERE holds.transaction_id = unreadable.transaction_id AND holds.player_id = unreadable.player_id
    AND holds.leased_until = unreadable.lease;
