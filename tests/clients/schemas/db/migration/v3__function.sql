CREATE FUNCTION balance_of(account BIGINT) RETURNS NUMERIC LANGUAGE sql STABLE AS $$
    SELECT balance FROM accounts WHERE id = account
$$;
COMMENT ON TABLE transfers IS 'Money on its way';
