-- Enters tokens that are new and locks the others until COMMIT, in the order of $1 and $2 (apps, hashes; sorted, each once).
-- What is known of them is read by a later statement: this one sees what was there before it waited.
INSERT INTO account_tokens AS known (bundle_id, token)
SELECT * FROM unnest($1::text[], $2::bytea[])
ON CONFLICT (bundle_id, token) DO UPDATE SET bundle_id = excluded.bundle_id;
