// node's pg: simple, prepared and named statements, arrays, errors.
const { Client } = require("pg");

(async () => {
  const client = new Client({ host: "127.0.0.1", port: 5432, user: "tester", database: "rukh" });
  await client.connect();
  await client.query("CREATE TABLE kinds (id int PRIMARY KEY, b boolean, l bigint, n numeric(10,2), t text, r bytea, tz timestamptz)");
  await client.query("INSERT INTO kinds VALUES ($1, $2, $3, $4, $5, $6, $7)",
    [1, true, "1099511627776", "12.34", "Zoë", Buffer.from([0, 255]), new Date(0)]);
  console.log((await client.query("SELECT * FROM kinds")).rows[0]);
  for (let id = 2; id < 6; id++) {
    await client.query({ name: "add", text: "INSERT INTO kinds (id, t) VALUES ($1, $2)", values: [id, "n" + id] });
  }
  console.log((await client.query("SELECT id FROM kinds WHERE id = ANY($1) ORDER BY id", [[2, 5, 9]])).rows);
  console.log((await client.query("SELECT array_agg(t ORDER BY id) AS all FROM kinds WHERE id > 1")).rows);
  await client.query("BEGIN");
  await client.query("DELETE FROM kinds");
  await client.query("ROLLBACK");
  console.log((await client.query("SELECT count(*)::int AS n FROM kinds")).rows);
  try {
    await client.query("INSERT INTO kinds (id) VALUES (1)");
  } catch (error) {
    console.log(error.code);
  }
  await client.end();
})();
