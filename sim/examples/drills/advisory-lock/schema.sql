CREATE SEQUENCE tokens;
CREATE TABLE jobs (id bigserial PRIMARY KEY, done_by text NOT NULL, token bigint NOT NULL);
CREATE TABLE fence (token bigint NOT NULL);
INSERT INTO fence VALUES (0);
