CREATE OR REPLACE VIEW report AS SELECT count(*) AS accounts, sum(balance) AS total FROM accounts;
