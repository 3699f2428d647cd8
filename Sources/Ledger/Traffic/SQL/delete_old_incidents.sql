-- Deletes incidents that have not happened again for $1 days.
DELETE FROM incidents WHERE last_at < now() - make_interval(days => $1);
