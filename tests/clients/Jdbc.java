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
    }
  }
}
