-- Apps whose catalog says that missed purchases are granted, from its import on; the first that said so counts. Nothing is
-- written of those that are known. $1 apps, sorted; $2 the catalog
INSERT INTO missed_purchase_grants (bundle_id, since)
SELECT bundle_id, coalesce((SELECT imported_at FROM catalogs WHERE version = $2), now())
FROM unnest($1::text[]) AS app (bundle_id)
WHERE NOT EXISTS (SELECT FROM missed_purchase_grants AS known WHERE known.bundle_id = app.bundle_id)
ON CONFLICT DO NOTHING;
