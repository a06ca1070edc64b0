//! Queries and updates.

use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::sql::{Any, CommandStatementQuery, ProstMessageExt};
use arrow_flight::{FlightDescriptor, IpcMessage};
use futures::StreamExt;
use prost::Message;
use rukh::arrow::datatypes::{DataType, Schema, TimeUnit};
use tonic::Code;

use crate::{error, failure, fetch, lines, rows, served};

#[test]
fn statements_run_and_rows_come_back() {
    served().run(|run| async move {
        let mut client = run.client().await;
        let create = "CREATE TABLE t (id INT PRIMARY KEY, name TEXT, at TIMESTAMP)";
        assert_eq!(
            client.execute_update(create.to_string(), None).await.ok(),
            Some(0)
        );
        let insert = "INSERT INTO t VALUES (1, 'a', '2020-01-02 03:04:05'), (2, NULL, NULL)";
        assert_eq!(
            client.execute_update(insert.to_string(), None).await.ok(),
            Some(2)
        );
        let all = rows(&mut client, "SELECT * FROM t ORDER BY id").await;
        assert_eq!(
            all.expect("the query runs"),
            ["1, a, 2020-01-02T03:04:05", "2, , "]
        );
        // A statement that gives no rows runs when its schema is requested, and once.
        let info = client.execute("UPDATE t SET name = 'b'".to_string(), None).await;
        let info = info.expect("the update runs");
        assert_eq!((info.endpoint.len(), info.total_records), (0, 2));
        let schema = info.try_decode_schema().expect("there is a schema");
        assert_eq!(schema, Schema::empty());
        let none = rows(&mut client, "SELECT * FROM t WHERE id > 2").await;
        assert!(none.expect("the query runs").is_empty());
    });
}

#[test]
fn writes_that_give_rows_run_once() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id INT PRIMARY KEY)"]);
        let mut client = run.client().await;
        let insert = "INSERT INTO t VALUES (1), (2) RETURNING id * 10 AS tens";
        let info = client
            .execute(insert.to_string(), None)
            .await
            .expect("it is understood");
        let first = fetch(&mut client, info.clone()).await.expect("it runs");
        assert_eq!(lines(&first), ["10", "20"]);
        let second = fetch(&mut client, info).await;
        assert_eq!(failure(second.map(drop)), error(Code::Internal, "34000"));
        let counted = rows(&mut client, "SELECT count(*) FROM t").await;
        assert_eq!(counted.expect("the query runs"), ["2"]);
    });
}

#[test]
fn errors_tell_their_sqlstate() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"]);
        let mut client = run.client().await;
        for (sql, code, sqlstate) in [
            ("SELECT * FROM nowhere", Code::NotFound, "42P01"),
            ("SELEC", Code::InvalidArgument, "42601"),
            ("SELECT nothing FROM t", Code::InvalidArgument, "42703"),
            ("INSERT INTO t VALUES (1)", Code::AlreadyExists, "23505"),
            ("BEGIN", Code::Unimplemented, "0A000"),
            ("COPY t TO STDOUT", Code::Unimplemented, "0A000"),
            ("SELECT 1 / (id - 1) FROM t", Code::InvalidArgument, "22012"),
            ("SELECT $1", Code::InvalidArgument, "08P01"),
        ] {
            let result = rows(&mut client, sql).await;
            assert_eq!(failure(result.map(drop)), error(code, sqlstate), "{sql}");
        }
        // The session goes on.
        assert_eq!(
            rows(&mut client, "SELECT id FROM t").await.expect("it runs"),
            ["1"]
        );
    });
}

#[test]
fn schemas_are_sent_before_and_kept() {
    served().run(|run| async move {
        run.execute(&[
            "CREATE TABLE t (id BIGINT PRIMARY KEY, d DECIMAL(10,2) NOT NULL, at TIMESTAMP WITH TIME ZONE, c CHAR(3))",
            "INSERT INTO t VALUES (1, 1.5, '2020-01-01', 'abc')",
        ]);
        let mut client = run.client().await;
        for sql in ["SELECT * FROM t", "SELECT id + 1 AS n, count(*) AS c, max(d) AS d FROM t GROUP BY id"] {
            let info = client.execute(sql.to_string(), None).await.expect("it is understood");
            let before = info.clone().try_decode_schema().expect("there is a schema");
            let batches = fetch(&mut client, info).await.expect("it runs");
            assert_eq!(before, *batches[0].schema(), "{sql}");
        }
        // GetSchema runs nothing.
        let command = CommandStatementQuery {
            query: "SELECT * FROM t".to_string(),
            transaction_id: None,
        };
        let any: Any = command.as_any();
        let descriptor = FlightDescriptor::new_cmd(any.encode_to_vec());
        let mut plain: FlightServiceClient<_> = client.inner().clone();
        let schema = plain.get_schema(descriptor).await.expect("there is a schema").into_inner();
        let schema = Schema::try_from(IpcMessage(schema.schema)).expect("it is a schema");
        let types: Vec<&DataType> = schema.fields().iter().map(|field| field.data_type()).collect();
        assert_eq!(
            types,
            [
                &DataType::Int64,
                &DataType::Decimal128(10, 2),
                &DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
                &DataType::Utf8
            ]
        );
        let name = schema.field(3).metadata().get("ARROW:FLIGHT:SQL:TYPE_NAME");
        assert_eq!(name.map(String::as_str), Some("CHAR(3)"));
    });
}

#[test]
fn results_are_streamed_and_end_with_their_client() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id BIGINT PRIMARY KEY, v BIGINT)"]);
        run.execute(&["INSERT INTO t SELECT n, n FROM generate_series(1, 3000) AS s(n)"]);
        let mut client = run.client().await;
        // Nine million rows, most of which are not read.
        let sql = "SELECT a.id, b.v FROM t a CROSS JOIN t b";
        let info = client
            .execute(sql.to_string(), None)
            .await
            .expect("it is understood");
        let ticket = info.endpoint[0].ticket.clone().expect("there is a ticket");
        let mut batches = client.do_get(ticket).await.expect("it runs");
        let first = batches
            .next()
            .await
            .expect("there are rows")
            .expect("they are right");
        assert!(first.num_rows() > 0);
        // The one that asks is active itself.
        let mut watcher = run.client().await;
        assert_eq!(active(&mut watcher).await, 2);
        drop(batches);
        while active(&mut watcher).await > 1 {
            tokio::task::yield_now().await;
        }
    });
}

/// Returns how many sessions run something.
async fn active(client: &mut crate::Client) -> usize {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'";
    let counted = rows(client, sql).await.expect("it runs");
    counted[0].parse().expect("it is a number")
}

#[test]
fn settings_hold_for_the_session() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id BIGINT PRIMARY KEY)"]);
        run.execute(&["INSERT INTO t SELECT n FROM generate_series(1, 3000) AS s(n)"]);
        let mut client = run.client().await;
        let set = "SET statement_timeout = '50ms'";
        assert_eq!(client.execute_update(set.to_string(), None).await.ok(), Some(0));
        let shown = rows(&mut client, "SHOW statement_timeout").await;
        assert_eq!(shown.expect("it can be shown"), ["50"]);
        let slow = "SELECT count(*) FROM t a, t b, t c WHERE a.id + b.id * c.id = 7";
        let late = rows(&mut client, slow).await;
        assert_eq!(failure(late.map(drop)), error(Code::Cancelled, "57014"));
        // Another connection is another session.
        let mut other = run.client().await;
        let shown = rows(&mut other, "SHOW statement_timeout").await;
        assert_eq!(shown.expect("it can be shown"), ["0"]);
    });
}
