-- Another row may stand there by now. $1 the day, as it was found; $2 places
DELETE FROM replays WHERE ctid = ANY ($2::text[]::tid[]) AND day < $1::date;
