CREATE TABLE invoices (id bigserial PRIMARY KEY, issued_by text NOT NULL, token bigint NOT NULL);
CREATE TABLE fence (token bigint NOT NULL);
INSERT INTO fence VALUES (-1);
