-- Who has written to each resource under the highest token.
CREATE TABLE IF NOT EXISTS fencepost_fence (resource text PRIMARY KEY, token bigint NOT NULL, holder text NOT NULL);
