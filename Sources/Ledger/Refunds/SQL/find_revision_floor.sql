-- Returns the floor, which new revisions must exceed. The function also stores the database's life if it is new.
SELECT revision_floor() AS floor;
