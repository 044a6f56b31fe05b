-- Requests that are done, for `fenced_once`. A row can be deleted once nobody will make its request again.
CREATE TABLE IF NOT EXISTS fencepost_done (request text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
