-- Another row may stand there by now. $1 the day, as it was found; $2 places
DELETE FROM proofs WHERE ctid = ANY ($2::text[]::tid[]) AND seen_on < $1::date;
