-- $1 an app whose credentials work again; $2 seconds over which its tries are spread; $3 reasons that they end
UPDATE parked
SET due_at = now() + make_interval(secs => $2 * random())
WHERE bundle_id = $1 AND reason = ANY ($3::text[])
    AND due_at > now() + make_interval(secs => $2);
