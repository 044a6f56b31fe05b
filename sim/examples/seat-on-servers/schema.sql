-- What leaders have written. The place in the order of commits is taken under the lock of the seat's row in `places`,
-- which lasts until the commit: a row of a higher place was committed later, whether the fence is in use or not.
CREATE TABLE written (
    seat text NOT NULL,
    place bigint NOT NULL,
    request bigint NOT NULL,
    token bigint NOT NULL,
    member text NOT NULL,
    PRIMARY KEY (seat, place)
);

-- Not unique: that a request is not done twice is for the fence to see to.
CREATE INDEX ON written (seat, request);

CREATE TABLE places (seat text PRIMARY KEY, place bigint NOT NULL);
