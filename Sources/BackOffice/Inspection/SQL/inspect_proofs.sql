-- Lists the proofs for which Apple's answer is stored. $1 SHA-256 of proofs, in hexadecimal
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT encode(proof, 'hex') AS proof_sha256, transaction_ids, seen_on
    FROM proofs
    WHERE proof = ANY (SELECT decode(given, 'hex') FROM unnest($1::text[]) AS given)
    ORDER BY seen_on DESC
) AS found;
