-- Writes holds that do not end, because another reason holds the transaction or Apple's answer lacks it. An operator's
-- release has no further effect.
-- $1 transactions, sorted; $2 their leases; $3 their reasons; $4 notes for an operator, or null; $5 the version of the
-- deciding catalog; $6 claims of their periods from now on, or null; $7 their players
UPDATE holds
SET reason = kept.reason, catalog_version = greatest(holds.catalog_version, $5), released_at = NULL, due_at = NULL,
    tries = 0, leased_until = NULL, note = kept.note, takes = 0, is_alone = false, deaths_alone = 0,
    period_id = coalesce(kept.period_id, holds.period_id)
FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $6::text[], $7::text[])
    AS kept (transaction_id, lease, reason, note, period_id, player_id)
WHERE holds.transaction_id = kept.transaction_id AND holds.player_id = kept.player_id AND holds.leased_until = kept.lease;
