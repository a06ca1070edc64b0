CREATE TYPE transfer_state AS ENUM ('open', 'done', 'failed');
CREATE TABLE transfers (
    id UUID PRIMARY KEY,
    from_account BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    to_account BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    amount NUMERIC(12, 2) NOT NULL CHECK (amount > 0),
    state transfer_state NOT NULL DEFAULT 'open',
    details JSONB
);
ALTER TABLE accounts ADD COLUMN closed BOOLEAN NOT NULL DEFAULT FALSE;
CREATE VIEW open_accounts AS SELECT id, email FROM accounts WHERE NOT closed;
