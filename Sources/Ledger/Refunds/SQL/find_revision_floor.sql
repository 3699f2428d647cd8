-- Returns the floor above which new revisions are numbered. The function enters a life of the database that is new to it.
SELECT revision_floor() AS floor;
