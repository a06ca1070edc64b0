// JDBC: batches, prepared statements, fetch sizes, savepoints, arrays, DatabaseMetaData.
import java.sql.*;
public class Jdbc {
  static void show(String what, ResultSet rs, String... cols) throws Exception {
    while (rs.next()) { StringBuilder b=new StringBuilder(what); for (String c: cols) b.append(' ').append(rs.getString(c)); System.out.println(b); }
  }
  public static void main(String[] a) throws Exception {
    try (Connection c = DriverManager.getConnection("jdbc:postgresql://127.0.0.1:5432/rukh", "tester", "")) {
      Statement s = c.createStatement();
      s.execute("DROP TABLE IF EXISTS jdbc_t");
      s.execute("CREATE TABLE jdbc_t (id int PRIMARY KEY, name varchar(20) NOT NULL, amount numeric(10,2) DEFAULT 0, at timestamp with time zone, ok boolean, raw bytea)");
      s.execute("CREATE UNIQUE INDEX jdbc_t_name ON jdbc_t (name)");
      PreparedStatement p = c.prepareStatement("INSERT INTO jdbc_t (id, name, amount, at, ok, raw) VALUES (?, ?, ?, ?, ?, ?)");
      for (int i = 1; i <= 20; i++) { p.setInt(1, i); p.setString(2, "n" + i); p.setBigDecimal(3, new java.math.BigDecimal("1.25")); p.setTimestamp(4, new Timestamp(0)); p.setBoolean(5, i % 2 == 0); p.setBytes(6, new byte[]{1,2}); p.addBatch(); }
      p.executeBatch();
      p = c.prepareStatement("SELECT name, amount, ok FROM jdbc_t WHERE id = ?");
      for (int i = 1; i <= 8; i++) { p.setInt(1, i); try (ResultSet r = p.executeQuery()) { r.next(); if (!r.getString(1).equals("n" + i)) throw new Exception("wrong row"); } }
      c.setAutoCommit(false);
      Statement f = c.createStatement(); f.setFetchSize(7); int n = 0;
      try (ResultSet r = f.executeQuery("SELECT * FROM jdbc_t ORDER BY id")) { while (r.next()) n++; }
      System.out.println("fetched " + n);
      Savepoint sp = c.setSavepoint("one"); s.executeUpdate("DELETE FROM jdbc_t"); c.rollback(sp); c.commit(); c.setAutoCommit(true);
      p = c.prepareStatement("SELECT count(*) FROM jdbc_t WHERE id = ANY (?)");
      p.setArray(1, c.createArrayOf("int4", new Integer[]{1, 2, 3, 99}));
      try (ResultSet r = p.executeQuery()) { r.next(); System.out.println("any " + r.getInt(1)); }
      DatabaseMetaData m = c.getMetaData();
      System.out.println(m.getDatabaseProductName() + " " + m.getDatabaseMajorVersion());
      show("table", m.getTables(null, "public", "jdbc%", new String[]{"TABLE"}), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE");
      show("column", m.getColumns(null, "public", "jdbc_t", "%"), "COLUMN_NAME", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS", "IS_NULLABLE", "COLUMN_DEF");
      show("key", m.getPrimaryKeys(null, "public", "jdbc_t"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME");
      show("index", m.getIndexInfo(null, "public", "jdbc_t", false, false), "INDEX_NAME", "NON_UNIQUE", "ORDINAL_POSITION", "COLUMN_NAME", "ASC_OR_DESC");
      show("schema", m.getSchemas(), "TABLE_SCHEM");
      show("catalog", m.getCatalogs(), "TABLE_CAT");
      show("best", m.getBestRowIdentifier(null, "public", "jdbc_t", 0, false), "COLUMN_NAME");
      s.execute("CREATE VIEW jdbc_v AS SELECT id FROM jdbc_t");
      s.execute("CREATE SEQUENCE jdbc_s");
      s.execute("COMMENT ON TABLE jdbc_t IS 'a table'");
      s.execute("COMMENT ON COLUMN jdbc_t.name IS 'a name'");
      show("all tables", m.getTables(null, "public", "%", null), "TABLE_NAME", "TABLE_TYPE", "REMARKS");
      show("view", m.getTables(null, null, "jdbc%", new String[]{"VIEW"}), "TABLE_NAME");
      show("remark", m.getColumns(null, null, "jdbc_t", "name"), "REMARKS", "DATA_TYPE", "ORDINAL_POSITION", "IS_AUTOINCREMENT", "IS_GENERATEDCOLUMN");
      show("unique index", m.getIndexInfo(null, "public", "jdbc_t", true, false), "INDEX_NAME", "TYPE");
      show("imported", m.getImportedKeys(null, "public", "jdbc_t"), "FK_NAME");
      show("exported", m.getExportedKeys(null, "public", "jdbc_t"), "FK_NAME");
      show("cross", m.getCrossReference(null, "public", "jdbc_t", null, "public", "jdbc_t"), "FK_NAME");
      show("schema like", m.getSchemas(null, "pub%"), "TABLE_SCHEM");
      show("table type", m.getTableTypes(), "TABLE_TYPE");
      try (ResultSet r = m.getTypeInfo()) { while (r.next()) if (r.getString(1).matches("int4|text|numeric|bool|timestamptz|uuid")) System.out.println("type " + r.getString(1) + " " + r.getInt(2)); }
      show("function", m.getFunctions(null, "pg_catalog", "lower"), "FUNCTION_SCHEM", "FUNCTION_NAME", "FUNCTION_TYPE");
      show("function column", m.getFunctionColumns(null, "pg_catalog", "pg_backend_pid", "%"), "FUNCTION_NAME", "COLUMN_NAME", "TYPE_NAME");
      show("procedure", m.getProcedures(null, "public", "%"), "PROCEDURE_NAME");
      show("procedure column", m.getProcedureColumns(null, "public", "%", "%"), "COLUMN_NAME");
      show("privilege", m.getTablePrivileges(null, "public", "jdbc_t"), "GRANTEE", "PRIVILEGE");
      show("column privilege", m.getColumnPrivileges(null, "public", "jdbc_t", "id"), "GRANTEE", "PRIVILEGE");
      show("version column", m.getVersionColumns(null, "public", "jdbc_t"), "COLUMN_NAME");
      show("udt", m.getUDTs(null, null, "%", null), "TYPE_NAME");
      show("client info", m.getClientInfoProperties(), "NAME");
      System.out.println(m.getMaxColumnsInIndex() + " " + m.getMaxTableNameLength() + " " + m.getUserName() + " " + m.getSQLKeywords().contains("ilike") + " " + (m.getSystemFunctions().length() > 0));
      ResultSetMetaData rm = s.executeQuery("SELECT id, name, amount, at FROM jdbc_t").getMetaData();
      for (int i = 1; i <= rm.getColumnCount(); i++) System.out.println("result " + rm.getColumnName(i) + " " + rm.getColumnTypeName(i) + " " + rm.getPrecision(i) + " " + rm.getScale(i) + " " + rm.getColumnClassName(i));
      p = c.prepareStatement("UPDATE jdbc_t SET amount = ? WHERE id = ?");
      ParameterMetaData pm = p.getParameterMetaData();
      System.out.println("parameters " + pm.getParameterCount() + " " + pm.getParameterTypeName(1) + " " + pm.getParameterTypeName(2));
      org.postgresql.copy.CopyManager copy = c.unwrap(org.postgresql.PGConnection.class).getCopyAPI();
      System.out.println("copied " + copy.copyIn("COPY jdbc_t (id, name) FROM STDIN (FORMAT csv)", new java.io.StringReader("100,a\n101,b\n")));
      java.io.StringWriter out = new java.io.StringWriter();
      System.out.println("copied " + copy.copyOut("COPY (SELECT id, name FROM jdbc_t WHERE id >= 100 ORDER BY id) TO STDOUT", out) + " " + out.toString().replace("\n", "/"));
      p = c.prepareStatement("INSERT INTO jdbc_t (id, name) VALUES (?, ?)", Statement.RETURN_GENERATED_KEYS);
      p.setInt(1, 200); p.setString(2, "keys"); p.executeUpdate();
      try (ResultSet r = p.getGeneratedKeys()) { r.next(); System.out.println("generated " + r.getInt("id")); }
      try { s.execute("INSERT INTO jdbc_t (id, name) VALUES (1, 'again')"); } catch (org.postgresql.util.PSQLException x) { System.out.println(x.getSQLState() + " " + x.getServerErrorMessage().getConstraint()); }
    }
  }
}
