-- The highest token that each resource has seen.
CREATE TABLE IF NOT EXISTS fencepost_fence (resource text PRIMARY KEY, token bigint NOT NULL);
