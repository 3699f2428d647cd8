-- What operators wrote of a player's purchases and submissions. $1 pseudonym; $2 submissions, whose ids name the player;
-- $3 transactions
UPDATE console_changes
SET note = NULL, subject = CASE WHEN subject = ANY ($2::text[]) THEN $1 ELSE subject END
WHERE subject = ANY ($2::text[] || $3::text[]);
