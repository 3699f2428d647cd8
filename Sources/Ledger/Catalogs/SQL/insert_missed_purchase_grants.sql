-- Inserts apps whose catalog grants missed purchases, with the catalog's import time. Writes nothing for an app that
-- has a time.
-- $1 apps, sorted; $2 the catalog's version
INSERT INTO missed_purchase_grants (bundle_id, since)
SELECT bundle_id, coalesce((SELECT imported_at FROM catalogs WHERE version = $2), now())
FROM unnest($1::text[]) AS app (bundle_id)
WHERE NOT EXISTS (SELECT FROM missed_purchase_grants AS known WHERE known.bundle_id = app.bundle_id)
ON CONFLICT DO NOTHING;
