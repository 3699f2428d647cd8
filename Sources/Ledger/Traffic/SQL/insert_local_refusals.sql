-- Inserts rejections that were decided without a request to Apple and without the ledger. Each rejection is at one
-- index of all arrays.
-- $1 events, $2 submissions, $3 players, $4 apps or null, $5 reasons, $6 codes, $7 sentences, $8 times, all text[]
INSERT INTO local_refusals (event_id, submission_id, player_id, bundle_id, reason, detail_code, detail, occurred_at)
SELECT told.event_id::uuid, told.submission_id, told.player_id, told.bundle_id, told.reason, told.detail_code, told.detail,
    told.occurred_at::timestamptz
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
    AS told (event_id, submission_id, player_id, bundle_id, reason, detail_code, detail, occurred_at)
ORDER BY 1
ON CONFLICT (event_id) DO NOTHING;
