-- Finds the continued subscriptions that have a grant, a hold or a row in subscriptions in a given app and environment.
-- These are the app and environment of the continuing subscription.
-- $1 originals, whose claims are locked; $2 apps; $3 environments
SELECT wanted.number
FROM unnest($1::text[], $2::text[], $3::text[])
    WITH ORDINALITY AS wanted (original_transaction_id, bundle_id, environment, number)
WHERE is_of_app(wanted.original_transaction_id, wanted.bundle_id, wanted.environment);
