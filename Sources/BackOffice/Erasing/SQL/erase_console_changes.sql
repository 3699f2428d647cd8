-- Clears operators' notes on a player's purchases and submissions, and replaces the submissions' ids, which may name
-- the player.
-- $1 pseudonym; $2 submissions; $3 transactions
UPDATE console_changes
SET note = NULL, subject = CASE WHEN subject = ANY ($2::text[]) THEN $1 ELSE subject END
WHERE subject = ANY ($2::text[] || $3::text[]);
