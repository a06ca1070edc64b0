CREATE TABLE accounts (id int PRIMARY KEY, name varchar(20) NOT NULL, balance numeric(10,2) DEFAULT 0, made timestamptz, CONSTRAINT positive CHECK (balance >= 0));
CREATE UNIQUE INDEX accounts_name ON accounts (name);
CREATE INDEX accounts_made ON accounts (made DESC) INCLUDE (balance) WHERE balance > 0;
CREATE TABLE notes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account int, text text);
CREATE SEQUENCE numbers;
CREATE VIEW rich AS SELECT id, name FROM accounts WHERE balance > 100;
COMMENT ON TABLE accounts IS 'who owns what';
COMMENT ON COLUMN accounts.name IS 'unique';
\d
\d accounts
\d+ accounts
\d notes
\d accounts_made
\d accounts_pkey
\d rich
\d+ rich
\d numbers
\d notes_id_seq
\d nothere
\dt
\dt+
\dt acc*
\di
\di+
\dv
\dv+
\ds
\dm
\dn
\dn+
\du
\dp
\dd
\dd positive
\l
\l+
\df
\df lower
\df+ pg_get_indexdef
\da count
\dRs
\dT
\dx
\db
\ddp
\drds
\dy
\dF
\dRp
\sv rich
\dconfig search_path
\conninfo
