-- What is parked of proofs that are not proven, in bytes.
SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM parked_weights;
