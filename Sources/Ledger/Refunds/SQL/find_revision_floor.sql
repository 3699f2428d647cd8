-- Returns the floor, which new revisions exceed. The function stores the database's timeline if it is new.
SELECT revision_floor() AS floor;
