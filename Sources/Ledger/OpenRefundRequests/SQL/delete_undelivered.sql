-- Deletes the rows of parked purchases that are decided now. $1 transactions, $2 their players
DELETE FROM undelivered
WHERE (transaction_id, player_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
    AND transaction_id = ANY ($1::text[]) AND reason = 'parked';
