-- Inserts new tokens and locks known tokens until COMMIT, in the order of the arrays. A later statement reads the facts
-- about the tokens, because this statement sees the rows as they were before it waited. $1 apps, $2 hashes; sorted,
-- each token once
INSERT INTO account_tokens AS known (bundle_id, token)
SELECT * FROM unnest($1::text[], $2::bytea[])
ON CONFLICT (bundle_id, token) DO UPDATE SET bundle_id = excluded.bundle_id;
