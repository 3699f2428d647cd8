-- Where the rows lie that were first seen before a day: found once for many deletes, since what is deleted stays in the
-- index for as long as any backup reads. $1 the day; $2 how many
SELECT ctid::text FROM proofs WHERE seen_on < $1::date ORDER BY seen_on LIMIT $2;
