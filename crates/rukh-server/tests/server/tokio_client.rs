//! tokio-postgres: everything prepared and binary, several statements under way on one connection.

use std::error::Error;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use bytes::BytesMut;
use futures::{SinkExt, StreamExt, TryStreamExt, future};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{AsyncMessage, Client, NoTls};

use crate::server;

/// A value as it stands on the wire: what the client has no type for without further features.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bytes(Vec<u8>);

impl<'a> FromSql<'a> for Bytes {
    fn from_sql(_: &Type, bytes: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Bytes(bytes.to_vec()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl ToSql for Bytes {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Connects; messages beside the answers come out of the channel.
async fn connect(address: SocketAddr) -> (Client, std::sync::mpsc::Receiver<String>) {
    let mut config = tokio_postgres::Config::new();
    config.host("127.0.0.1").port(address.port()).user("tester");
    let (client, mut connection) = config
        .dbname("rukh")
        .connect(NoTls)
        .await
        .expect("the server is there");
    let (sender, notices) = std::sync::mpsc::channel();
    tokio::spawn(async move {
        let mut messages = pin!(futures::stream::poll_fn(
            move |context| connection.poll_message(context)
        ));
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notice(notice) = message {
                let _ = sender.send(notice.message().to_string());
            }
        }
    });
    (client, notices)
}

/// Runs a test against a server of its own.
fn with_client<F: Future<Output = Result<(), tokio_postgres::Error>>>(test: impl FnOnce(SocketAddr) -> F) {
    let server = server();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime can be made");
    let result = runtime.block_on(test(server.address()));
    result.unwrap_or_else(|error| panic!("{error}: {:?}", error.as_db_error()));
    drop(runtime);
    server.stop();
}

#[test]
fn values_of_every_type_come_back() {
    with_client(|address| async move {
        let (client, _) = connect(address).await;
        client
            .batch_execute(
                "CREATE TABLE kinds (id int PRIMARY KEY, b boolean, s smallint, l bigint, r real, d double precision, \
                 n numeric(10,2), t text, c char(3), v varchar(5), raw bytea, dd date, tt time, ts timestamp, \
                 tz timestamptz, u uuid)",
            )
            .await?;
        let insert = client
            .prepare("INSERT INTO kinds VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16)")
            .await?;
        let types: Vec<&str> = insert.params().iter().map(Type::name).collect();
        assert_eq!(
            types,
            [
                "int4",
                "bool",
                "int2",
                "int8",
                "float4",
                "float8",
                "numeric",
                "text",
                "text",
                "text",
                "bytea",
                "date",
                "time",
                "timestamp",
                "timestamptz",
                "uuid"
            ]
        );
        // 12.34, 2020-02-29, 01:02:03, 2024-01-02 03:04:05.000678 and a number, as the protocol has them.
        let numeric = Bytes(
            [2_u16, 0, 0, 2, 12, 3400]
                .iter()
                .flat_map(|word| word.to_be_bytes())
                .collect(),
        );
        let date = Bytes(7364_i32.to_be_bytes().to_vec());
        let time = Bytes(3_723_000_000_i64.to_be_bytes().to_vec());
        let moment = Bytes(757_479_845_000_678_i64.to_be_bytes().to_vec());
        let uuid = Bytes((1..=16).collect());
        let raw: Vec<u8> = vec![0, 255];
        let values: [&(dyn ToSql + Sync); 16] = [
            &1_i32,
            &true,
            &7_i16,
            &(1_i64 << 40),
            &0.5_f32,
            &1.5_f64,
            &numeric,
            &"Zoë",
            &"abc",
            &"vwxyz",
            &raw,
            &date,
            &time,
            &moment,
            &moment,
            &uuid,
        ];
        assert_eq!(client.execute(&insert, &values).await?, 1);
        let row = client
            .query_one("SELECT * FROM kinds WHERE id = $1", &[&1_i32])
            .await?;
        assert_eq!(
            (row.get(0), row.get(1), row.get(2), row.get(3)),
            (1_i32, true, 7_i16, 1_i64 << 40)
        );
        assert_eq!((row.get(4), row.get(5)), (0.5_f32, 1.5_f64));
        assert_eq!((row.get(7), row.get(8), row.get(9)), ("Zoë", "abc", "vwxyz"));
        assert_eq!(row.get::<_, Vec<u8>>(10), raw);
        let kept = [6, 11, 12, 13, 14, 15].map(|column| row.get::<_, Bytes>(column));
        assert_eq!(kept, [numeric, date, time, moment.clone(), moment, uuid]);
        let row = client
            .query_one("SELECT n::text, dd::text, tt::text FROM kinds WHERE id = 1", &[])
            .await?;
        let texts = [0, 1, 2].map(|column| row.get::<_, String>(column));
        assert_eq!(texts, ["12.34", "2020-02-29", "01:02:03"]);
        // NULL in every column, and arrays.
        client
            .execute("INSERT INTO kinds (id) VALUES ($1)", &[&2_i32])
            .await?;
        let row = client.query_one("SELECT * FROM kinds WHERE id = 2", &[]).await?;
        assert!((1..16).all(|column| row.get::<_, Option<Bytes>>(column).is_none()));
        let wanted = vec![2_i32, 1, 99];
        let found = client
            .query("SELECT id FROM kinds WHERE id = ANY($1) ORDER BY id", &[&wanted])
            .await?;
        assert_eq!(found.iter().map(|row| row.get(0)).collect::<Vec<i32>>(), [1, 2]);
        Ok(())
    });
}

#[test]
fn statements_run_beside_one_another() {
    with_client(|address| async move {
        let (mut client, notices) = connect(address).await;
        client
            .batch_execute("CREATE TABLE t (id int PRIMARY KEY, name text)")
            .await?;
        let insert = client.prepare("INSERT INTO t VALUES ($1, $2)").await?;
        let insert = &insert;
        let pipeline = (0..100_i32).map(|id| {
            let client = &client;
            async move { client.execute(insert, &[&id, &format!("n{id}")]).await }
        });
        let counts = future::try_join_all(pipeline).await?;
        assert_eq!(counts, [1; 100]);
        // A transaction that ends, one within it that does not, and one that is dropped.
        let mut transaction = client.transaction().await?;
        transaction.execute("DELETE FROM t WHERE id >= 50", &[]).await?;
        let savepoint = transaction.transaction().await?;
        savepoint.execute("DELETE FROM t", &[]).await?;
        savepoint.rollback().await?;
        let portal = transaction.bind("SELECT id FROM t ORDER BY id", &[]).await?;
        let mut read = Vec::new();
        loop {
            let rows = transaction.query_portal(&portal, 20).await?;
            if rows.is_empty() {
                break;
            }
            read.extend(rows.iter().map(|row| row.get::<_, i32>(0)));
        }
        assert_eq!(read, (0..50).collect::<Vec<_>>());
        transaction.commit().await?;
        let dropped = client.transaction().await?;
        dropped.execute("DELETE FROM t", &[]).await?;
        drop(dropped);
        let row = client.query_one("SELECT count(*) FROM t", &[]).await?;
        assert_eq!(row.get::<_, i64>(0), 50);
        let error = client.execute(insert, &[&1_i32, &"again"]).await.err();
        let error = error.expect("the key is there");
        assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION));
        let error = error.as_db_error().expect("the server says so");
        assert_eq!((error.table(), error.constraint()), (Some("t"), Some("t_pkey")));
        client.batch_execute("COMMIT").await?;
        let notice = notices.recv_timeout(Duration::from_secs(20));
        assert_eq!(
            notice.as_deref(),
            Ok("there is no transaction in progress"),
            "a notice beside the answer"
        );
        Ok(())
    });
}

#[test]
fn parameters_without_a_type_stand_beside_values_of_any() {
    with_client(|address| async move {
        let (client, _) = connect(address).await;
        client
            .batch_execute(
                "CREATE TABLE t (id int PRIMARY KEY, v varchar(10), tags text[], at timestamp);
                 INSERT INTO t VALUES (1, NULL, '{a,b}', '2024-01-01 10:00'), (2, 'vv', '{c}', '2024-01-02 10:00')",
            )
            .await?;
        let sql = "SELECT coalesce(v, $1), CASE WHEN $2 THEN v ELSE $3 END FROM t ORDER BY id";
        let rows = client.query(sql, &[&"none", &true, &"else"]).await?;
        let texts = |row: &tokio_postgres::Row| (row.get::<_, String>(0), row.get::<_, Option<String>>(1));
        assert_eq!(texts(&rows[0]), ("none".to_string(), None));
        assert_eq!(texts(&rows[1]), ("vv".to_string(), Some("vv".to_string())));
        let sql = "SELECT tags || $1, tags = $2 FROM t WHERE tags @> $3";
        let (more, same, with) = (vec!["x"], vec!["a", "b"], vec!["b"]);
        let row = client.query_one(sql, &[&more, &same, &with]).await?;
        assert_eq!(row.get::<_, Vec<String>>(0), ["a", "b", "x"]);
        assert!(row.get::<_, bool>(1));
        let sql = "SELECT g FROM generate_series(1, $1) g, t WHERE at >= $2 AND at < $2 + interval '1 day' ORDER BY g";
        let statement = client.prepare(sql).await?;
        assert_eq!(statement.params(), [Type::INT4, Type::TIMESTAMP]);
        // Microseconds from the year 2000 to 2024-01-02.
        let day = Bytes(757_468_800_000_000_i64.to_be_bytes().to_vec());
        let rows = client.query(&statement, &[&3_i32, &day]).await?;
        assert_eq!(
            rows.iter().map(|row| row.get::<_, i32>(0)).collect::<Vec<_>>(),
            [1, 2, 3]
        );
        Ok(())
    });
}

#[test]
fn rows_are_copied_in_and_out() {
    with_client(|address| async move {
        let (client, _) = connect(address).await;
        client
            .batch_execute("CREATE TABLE t (id int PRIMARY KEY, name text)")
            .await?;
        let mut sink = pin!(client.copy_in("COPY t FROM STDIN").await?);
        for part in ["1\tone\n2\tt", "wo\n3\t\\N\n"] {
            sink.send(bytes::Bytes::from_static(part.as_bytes())).await?;
        }
        assert_eq!(sink.as_mut().finish().await?, 3);
        let sink = client.copy_in("COPY t FROM STDIN (FORMAT binary)").await?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &[Type::INT4, Type::TEXT]));
        for id in 4..=1000_i32 {
            writer.as_mut().write(&[&id, &format!("n{id}")]).await?;
        }
        assert_eq!(writer.finish().await?, 997);
        let text = client
            .copy_out("COPY (SELECT * FROM t WHERE id < 5 ORDER BY id) TO STDOUT")
            .await?;
        let parts: Vec<bytes::Bytes> = text.try_collect().await?;
        assert_eq!(parts.concat(), b"1\tone\n2\ttwo\n3\t\\N\n4\tn4\n");
        let binary = client
            .copy_out("COPY (SELECT * FROM t ORDER BY id) TO STDOUT (FORMAT binary)")
            .await?;
        let rows: Vec<_> = BinaryCopyOutStream::new(binary, &[Type::INT4, Type::TEXT])
            .try_collect()
            .await?;
        let ids: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(ids, (1..=1000).collect::<Vec<_>>());
        assert_eq!(rows[2].get::<Option<&str>>(1), None);
        // One that is given up leaves nothing, and the connection goes on.
        let mut dropped = Box::pin(client.copy_in::<_, bytes::Bytes>("COPY t FROM STDIN").await?);
        dropped.send(bytes::Bytes::from_static(b"2000\tno\n")).await?;
        drop(dropped);
        let row = client.query_one("SELECT count(*) FROM t", &[]).await?;
        assert_eq!(row.get::<_, i64>(0), 1000);
        Ok(())
    });
}

#[test]
fn a_statement_is_cancelled() {
    with_client(|address| async move {
        let (client, _) = connect(address).await;
        let token = client.cancel_token();
        let long = client.query_one(
            "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 1000000) b",
            &[],
        );
        let mut long = pin!(long);
        let error = loop {
            match tokio::time::timeout(Duration::from_millis(20), long.as_mut()).await {
                Ok(result) => break result.expect_err("it is cancelled"),
                Err(_) => token.cancel_query(NoTls).await?,
            }
        };
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
        // Of several requests the last may come late, and end a statement that it was not meant for.
        let row = loop {
            match client.query_one("SELECT 1::bigint", &[]).await {
                Err(error) if error.code() == Some(&SqlState::QUERY_CANCELED) => {}
                row => break row?,
            }
        };
        assert_eq!(row.get::<_, i64>(0), 1);
        // A statement describes its parameters and columns; a type by name too.
        let statement = client
            .prepare("SELECT relname, oid, 1.5::numeric(4,2) FROM pg_class WHERE relkind = $1")
            .await?;
        let columns: Vec<_> = statement
            .columns()
            .iter()
            .map(|column| (column.name(), column.type_().name()))
            .collect();
        assert_eq!(columns[0], ("relname", "name"));
        assert_eq!(columns[1], ("oid", "oid"));
        assert_eq!(columns[2].1, "numeric");
        Ok(())
    });
}
