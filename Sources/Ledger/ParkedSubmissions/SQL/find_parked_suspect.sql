-- Returns whether a suspect is due. A suspect is a row with three leases without a result.
SELECT EXISTS (
    SELECT FROM parked WHERE due_at <= now() AND takes >= 3 AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')) AS is_due;
