-- Counts grants that are not wholly revoked.
-- $1 apps; $2 players; $3 products; $4 the beginnings of UTC days of purchase
SELECT number, granted FROM count_grants_of_days($1, $2, $3, $4, 9223372036854775807);
