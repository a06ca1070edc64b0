// Flyway and Liquibase: migrate, validate, undo, look at what is there, clean up.
import java.sql.*;
import java.util.*;
import liquibase.*;
import liquibase.database.*;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.snapshot.*;
import liquibase.structure.core.*;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.configuration.FluentConfiguration;

public class Migrations {
  static Connection connect(String url) throws SQLException { return DriverManager.getConnection(url, "tester", ""); }

  static FluentConfiguration flyway(String url, String folder) {
    FluentConfiguration files = Flyway.configure().locations("filesystem:" + folder + "/db/migration").sqlMigrationPrefix("v").repeatableSqlMigrationPrefix("r");
    return files.dataSource(url, "tester", "").defaultSchema("flyway");
  }

  static void migrateByFlyway(String url, String folder) throws Exception {
    Flyway flyway = flyway(url, folder).createSchemas(true).load();
    System.out.println("flyway migrated " + flyway.migrate().migrationsExecuted);
    System.out.println("flyway migrated " + flyway.migrate().migrationsExecuted);
    flyway.validate();
    for (var info : flyway.info().all()) System.out.println("flyway " + info.getVersion() + " " + info.getDescription() + " " + info.getState());
    try (Connection c = connect(url); Statement s = c.createStatement()) {
      s.execute("SET search_path = flyway");
      ResultSet r = s.executeQuery("SELECT balance_of(1), accounts, total FROM report");
      r.next();
      System.out.println("report " + r.getBigDecimal(1) + " " + r.getLong(2) + " " + r.getBigDecimal(3));
    }
    Flyway cleaner = flyway(url, folder).cleanDisabled(false).load();
    cleaner.clean();
    System.out.println("flyway cleaned, pending " + cleaner.info().pending().length);
  }

  static int unrun(Liquibase liquibase) throws Exception { return liquibase.listUnrunChangeSets(new Contexts(), new LabelExpression()).size(); }

  static void migrateByLiquibase(String url, String folder) throws Exception {
    try (Connection c = connect(url)) {
      try (Statement s = c.createStatement()) { s.execute("CREATE SCHEMA liqui"); }
      Database database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(c));
      database.setDefaultSchemaName("liqui");
      Liquibase liquibase = new Liquibase("changelog.xml", new DirectoryResourceAccessor(java.nio.file.Path.of(folder)), database);
      liquibase.update(new Contexts());
      System.out.println("liquibase left " + unrun(liquibase));
      liquibase.rollback(1, "");
      System.out.println("liquibase left " + unrun(liquibase));
      liquibase.update(new Contexts());
      liquibase.validate();
      DatabaseSnapshot snapshot = SnapshotGeneratorFactory.getInstance().createSnapshot(new CatalogAndSchema(null, "liqui"), database, new SnapshotControl(database));
      TreeSet<String> shown = new TreeSet<>();
      for (Table t : snapshot.get(Table.class)) {
        List<String> columns = t.getColumns().stream().map(column -> column.getName() + " " + column.getType()).sorted().toList();
        shown.add(t.getName() + " " + columns + " key " + (t.getPrimaryKey() == null ? "none" : t.getPrimaryKey().getColumnNames()) + ", refers " + t.getOutgoingForeignKeys().size() + ", " + t.getRemarks());
      }
      for (View v : snapshot.get(View.class)) shown.add("view " + v.getName());
      for (Sequence s : snapshot.get(Sequence.class)) shown.add("sequence " + s.getName());
      for (Index i : snapshot.get(Index.class)) shown.add("index " + i.getName() + " " + i.getColumnNames());
      shown.forEach(System.out::println);
      liquibase.dropAll();
      System.out.println("liquibase dropped all");
    }
  }

  public static void main(String[] args) throws Exception {
    migrateByFlyway(args[0], args[1]);
    migrateByLiquibase(args[0], args[1]);
  }
}
