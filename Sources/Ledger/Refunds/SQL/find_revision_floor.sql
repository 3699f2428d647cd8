-- Revisions are numbered above it. It enters a life of the database that it has not seen.
SELECT revision_floor() AS floor;
