-- Returns the floor. New revisions must exceed the floor. The function stores the database's timeline if it is new.
SELECT revision_floor() AS floor;
