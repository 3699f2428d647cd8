-- Sums the bytes of parked submissions whose proof is not proven.
SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM parked_weights;
