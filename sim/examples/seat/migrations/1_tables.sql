CREATE TABLE invoices (
    id bigserial PRIMARY KEY,
    amount bigint NOT NULL,
    charged boolean NOT NULL DEFAULT false
);

-- What the customer pays: one row for each invoice, if all goes well.
CREATE TABLE charges (
    id bigserial PRIMARY KEY,
    invoice bigint NOT NULL,
    amount bigint NOT NULL,
    token bigint NOT NULL
);
