-- The highest token that has written each resource, and whose it was. Never delete a row: a former leader could write again.
CREATE TABLE IF NOT EXISTS fencepost_fence (resource text PRIMARY KEY, token bigint NOT NULL, holder text NOT NULL);
