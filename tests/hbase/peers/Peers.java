// What `make bench-hbase` compares Rukh with, on one HBase: its Java client, with an index that is kept by hand, and Phoenix.
//
//     java -cp JARS Peers.java client|phoenix ROWS
//
// The rows, the works and the lines that are printed are those of crates/rukh-testkit/src/bin/bench_hbase/rukh.rs: the name of a work, a tab, the
// microseconds of one run in the median, a tab, the rows that it gave.

import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.filter.Filter;
import org.apache.hadoop.hbase.filter.FilterList;
import org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter;
import org.apache.hadoop.hbase.filter.FuzzyRowFilter;
import org.apache.hadoop.hbase.filter.SingleColumnValueFilter;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Pair;

public class Peers {
    static final int TIMES = 100;
    static final byte[] D = Bytes.toBytes("d");
    static final byte[] SITE = Bytes.toBytes("site");
    static final byte[] V = Bytes.toBytes("v");
    static final byte[] NOTE = Bytes.toBytes("note");

    /** One run of a work; returns the rows that it gave. */
    interface Work {
        int run(int nth) throws Exception;
    }

    static int rows;

    static int sensors() {
        return rows / TIMES;
    }

    static int site(long sensor, long time) {
        return (int) ((sensor * TIMES + time) % 2000);
    }

    /** Each run writes other values: what is there already need not be written. */
    static double value(long sensor, long time, int nth) {
        return sensor * 0.5 + time + nth;
    }

    static String note(long sensor, long time) {
        return "reading " + time + " of sensor " + sensor;
    }

    /** A number that is spread over a range, the same in all programs. */
    static int spread(int nth, int range) {
        return (int) ((nth * 7919L) % range);
    }

    static void measure(String name, int runs, Work work) throws Exception {
        for (int nth = 0; nth < Math.max(1, runs / 4); nth++) {
            work.run(nth + 1000);
        }
        long[] micros = new long[runs];
        int found = 0;
        for (int nth = 0; nth < runs; nth++) {
            long begun = System.nanoTime();
            found = work.run(nth);
            micros[nth] = (System.nanoTime() - begun) / 1000;
        }
        Arrays.sort(micros);
        System.out.println(name + "\t" + micros[runs / 2] + "\t" + found);
    }

    public static void main(String[] words) throws Exception {
        rows = Integer.parseInt(words[1]);
        if (words[0].equals("client")) {
            client();
        } else {
            phoenix();
        }
        System.exit(0);
    }

    static byte[] key(long sensor, long time) {
        return ByteBuffer.allocate(16).putLong(sensor).putLong(time).array();
    }

    static byte[] indexKey(int site, long time, long sensor) {
        return ByteBuffer.allocate(20).putInt(site).putLong(time).putLong(sensor).array();
    }

    static Put row(long sensor, long time, int nth) {
        return new Put(key(sensor, time))
            .addColumn(D, SITE, Bytes.toBytes(site(sensor, time)))
            .addColumn(D, V, Bytes.toBytes(value(sensor, time, nth)))
            .addColumn(D, NOTE, Bytes.toBytes(note(sensor, time)));
    }

    static Put entry(long sensor, long time, int nth) {
        return new Put(indexKey(site(sensor, time), time, sensor))
            .addColumn(D, V, Bytes.toBytes(value(sensor, time, nth)));
    }

    static int count(Table table, Scan scan) throws Exception {
        int found = 0;
        try (ResultScanner scanner = table.getScanner(scan)) {
            for (Result result : scanner) {
                found += result.isEmpty() ? 0 : 1;
            }
        }
        return found;
    }

    static void client() throws Exception {
        try (var connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
                var admin = connection.getAdmin()) {
            List<Table> tables = new ArrayList<>();
            for (String name : new String[] {"peer", "peer_index"}) {
                TableName table = TableName.valueOf(name);
                admin.createTable(TableDescriptorBuilder.newBuilder(table)
                    .setColumnFamily(ColumnFamilyDescriptorBuilder.of(D))
                    .build());
                tables.add(connection.getTable(table));
            }
            Table table = tables.get(0);
            Table index = tables.get(1);
            measure("batch of 1,000 upserts", Math.max(1, rows / 1000), nth -> {
                // The rows come in order; what warms up writes the same ones.
                List<Put> puts = new ArrayList<>();
                List<Put> entries = new ArrayList<>();
                for (int at = 0; at < 1000; at++) {
                    int number = (nth % (rows / 1000)) * 1000 + at;
                    puts.add(row(number / TIMES, number % TIMES, nth));
                    entries.add(entry(number / TIMES, number % TIMES, nth));
                }
                table.put(puts);
                index.put(entries);
                return 1000;
            });
            admin.flush(table.getName());
            admin.flush(index.getName());
            measure("one upsert", 200, nth -> {
                int sensor = spread(nth, sensors());
                table.put(row(sensor, nth % TIMES, nth + 5000));
                index.put(entry(sensor, nth % TIMES, nth + 5000));
                return 1;
            });
            measure("point", 400, nth ->
                table.get(new Get(key(spread(nth, sensors()), nth % TIMES))).isEmpty() ? 0 : 1);
            measure("prefix, 100 rows", 200, nth -> {
                int sensor = spread(nth, sensors());
                return count(table, new Scan().withStartRow(key(sensor, 0)).withStopRow(key(sensor + 1, 0)));
            });
            measure("covering index, 100 rows", 200, nth -> {
                int site = spread(nth, 2000);
                return count(index, new Scan().withStartRow(indexKey(site, 0, 0)).withStopRow(indexKey(site + 1, 0, 0)));
            });
            measure("index with lookups, 100 rows", 100, nth -> {
                int site = spread(nth, 2000);
                List<Get> gets = new ArrayList<>();
                Scan scan = new Scan().withStartRow(indexKey(site, 0, 0)).withStopRow(indexKey(site + 1, 0, 0));
                try (ResultScanner scanner = index.getScanner(scan)) {
                    for (Result result : scanner) {
                        ByteBuffer found = ByteBuffer.wrap(result.getRow());
                        found.getInt();
                        long time = found.getLong();
                        gets.add(new Get(key(found.getLong(), time)));
                    }
                }
                return table.get(gets).length;
            });
            measure("masked scan, two conditions", 10, nth -> {
                byte[] mask = new byte[16];
                Arrays.fill(mask, 0, 8, (byte) 1);
                Filter time = new FuzzyRowFilter(List.of(new Pair<>(key(0, nth % TIMES), mask)));
                Filter site = new SingleColumnValueFilter(D, SITE, CompareOperator.LESS, Bytes.toBytes(100));
                return count(table, new Scan().setFilter(new FilterList(time, site)));
            });
            measure("count", 5, nth -> {
                Scan scan = new Scan().setFilter(new FirstKeyOnlyFilter());
                return count(table, scan);
            });
        }
    }

    static int count(PreparedStatement query) throws Exception {
        int found = 0;
        try (ResultSet result = query.executeQuery()) {
            int columns = result.getMetaData().getColumnCount();
            while (result.next()) {
                for (int at = 1; at <= columns; at++) {
                    result.getObject(at);
                }
                found++;
            }
        }
        return found;
    }

    static void bind(PreparedStatement upsert, long sensor, long time, int nth) throws Exception {
        upsert.setLong(1, sensor);
        upsert.setLong(2, time);
        upsert.setInt(3, site(sensor, time));
        upsert.setDouble(4, value(sensor, time, nth));
        upsert.setString(5, note(sensor, time));
        upsert.executeUpdate();
    }

    static void phoenix() throws Exception {
        try (Connection connection = DriverManager.getConnection("jdbc:phoenix")) {
            try (Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE readings (sensor BIGINT NOT NULL, t BIGINT NOT NULL, site INTEGER, v DOUBLE,"
                    + " note VARCHAR, CONSTRAINT pk PRIMARY KEY (sensor, t))");
                statement.execute("CREATE INDEX readings_site ON readings (site, t) INCLUDE (v)");
            }
            connection.setAutoCommit(false);
            PreparedStatement upsert = connection.prepareStatement("UPSERT INTO readings VALUES (?, ?, ?, ?, ?)");
            measure("batch of 1,000 upserts", Math.max(1, rows / 1000), nth -> {
                for (int at = 0; at < 1000; at++) {
                    int number = (nth % (rows / 1000)) * 1000 + at;
                    bind(upsert, number / TIMES, number % TIMES, nth);
                }
                connection.commit();
                return 1000;
            });
            try (var hbase = ConnectionFactory.createConnection(HBaseConfiguration.create());
                    var admin = hbase.getAdmin()) {
                admin.flush(TableName.valueOf("READINGS"));
                admin.flush(TableName.valueOf("READINGS_SITE"));
            }
            measure("one upsert", 200, nth -> {
                bind(upsert, spread(nth, sensors()), nth % TIMES, nth + 5000);
                connection.commit();
                return 1;
            });
            PreparedStatement point = connection.prepareStatement("SELECT * FROM readings WHERE sensor = ? AND t = ?");
            measure("point", 400, nth -> {
                point.setLong(1, spread(nth, sensors()));
                point.setLong(2, nth % TIMES);
                return count(point);
            });
            PreparedStatement prefix = connection.prepareStatement("SELECT * FROM readings WHERE sensor = ?");
            measure("prefix, 100 rows", 200, nth -> {
                prefix.setLong(1, spread(nth, sensors()));
                return count(prefix);
            });
            PreparedStatement covering = connection.prepareStatement("SELECT t, v FROM readings WHERE site = ?");
            measure("covering index, 100 rows", 200, nth -> {
                covering.setInt(1, spread(nth, 2000));
                return count(covering);
            });
            PreparedStatement lookups = connection.prepareStatement(
                "SELECT /*+ INDEX(readings readings_site) */ t, v, note FROM readings WHERE site = ?");
            measure("index with lookups, 100 rows", 100, nth -> {
                lookups.setInt(1, spread(nth, 2000));
                return count(lookups);
            });
            PreparedStatement masked = connection.prepareStatement(
                "SELECT /*+ NO_INDEX */ sensor, v, note FROM readings WHERE t = ? AND site < 100");
            measure("masked scan, two conditions", 10, nth -> {
                masked.setLong(1, nth % TIMES);
                return count(masked);
            });
            PreparedStatement all = connection.prepareStatement("SELECT count(*) FROM readings");
            measure("count", 5, nth -> {
                try (ResultSet result = all.executeQuery()) {
                    result.next();
                    return (int) result.getLong(1);
                }
            });
        }
    }
}
