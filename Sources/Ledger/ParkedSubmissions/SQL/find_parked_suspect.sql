-- Tells whether a suspect is due: a row that was leased three times without a release.
SELECT EXISTS (
    SELECT FROM parked WHERE due_at <= now() AND takes >= 3 AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')) AS is_due;
