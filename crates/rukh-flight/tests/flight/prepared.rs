//! Prepared statements and their parameters.

use std::sync::Arc;

use futures::TryStreamExt;
use rukh::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use rukh::arrow::datatypes::DataType;
use tonic::Code;

use crate::{error, failure, fetch, lines, rows, served};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).expect("columns are of one length")
}

fn numbers(values: Vec<Option<i64>>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

fn texts(values: Vec<&str>) -> ArrayRef {
    Arc::new(StringArray::from(values))
}

#[test]
fn parameters_are_bound_row_by_row() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id INT PRIMARY KEY, name TEXT, d DATE)"]);
        let mut client = run.client().await;
        let insert = "INSERT INTO t VALUES ($1, $2, $3)".to_string();
        let mut insert = client.prepare(insert, None).await.expect("it is understood");
        let wanted: Vec<DataType> = insert
            .parameter_schema()
            .expect("parameters are described")
            .fields()
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        assert_eq!(wanted, [DataType::Int32, DataType::Utf8, DataType::Date32]);
        // Longer numbers and texts are taken for what the column is.
        let many = batch(vec![
            ("a", numbers(vec![Some(1), Some(2), Some(3)])),
            ("b", texts(vec!["x", "y", "z"])),
            ("c", texts(vec!["2020-01-01", "2020-01-02", "2020-01-03"])),
        ]);
        insert.set_parameters(many).expect("they are taken");
        assert_eq!(insert.execute_update().await.ok(), Some(3));

        let select = "SELECT id, name FROM t WHERE id = $1 AND d > $2".to_string();
        let mut select = client.prepare(select, None).await.expect("it is understood");
        let two = batch(vec![
            ("a", numbers(vec![Some(3), Some(1), None])),
            ("b", texts(vec!["2019-12-31", "2019-12-31", "2019-12-31"])),
        ]);
        select.set_parameters(two).expect("they are taken");
        let info = select.execute().await.expect("it runs");
        let found = fetch(&mut client, info).await.expect("it runs");
        assert_eq!(lines(&found), ["3, z", "1, x"]);
        select.close().await.expect("it can be closed");
        insert.close().await.expect("it can be closed");
    });
}

#[test]
fn rows_of_parameters_change_all_or_nothing() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (3)"]);
        let mut client = run.client().await;
        let insert = client
            .prepare("INSERT INTO t VALUES ($1)".to_string(), None)
            .await;
        let mut insert = insert.expect("it is understood");
        let twice = batch(vec![("a", numbers(vec![Some(1), Some(2), Some(3)]))]);
        insert.set_parameters(twice).expect("they are taken");
        let failed = insert.execute_update().await;
        assert_eq!(failure(failed.map(drop)), error(Code::AlreadyExists, "23505"));
        let left = rows(&mut client, "SELECT id FROM t").await;
        assert_eq!(left.expect("it runs"), ["3"]);
    });
}

#[test]
fn wrong_parameters_are_refused() {
    served().run(|run| async move {
        run.execute(&["CREATE TABLE t (id INT PRIMARY KEY, d DATE)"]);
        let mut client = run.client().await;
        let insert = client
            .prepare("INSERT INTO t VALUES ($1, $2)".to_string(), None)
            .await;
        let mut insert = insert.expect("it is understood");
        for (parameters, code, sqlstate) in [
            (
                batch(vec![("a", numbers(vec![Some(1)]))]),
                Code::InvalidArgument,
                "08P01",
            ),
            (
                batch(vec![("a", numbers(vec![Some(1)])), ("b", texts(vec!["no date"]))]),
                Code::InvalidArgument,
                "22007",
            ),
            (
                batch(vec![
                    ("a", numbers(vec![Some(1 << 40)])),
                    ("b", texts(vec!["2020-01-01"])),
                ]),
                Code::InvalidArgument,
                "22003",
            ),
        ] {
            insert.set_parameters(parameters).expect("they are taken");
            let failed = insert.execute_update().await;
            assert_eq!(failure(failed.map(drop)), error(code, sqlstate));
        }
        let unbound = client
            .prepare("INSERT INTO t VALUES ($1, $2)".to_string(), None)
            .await;
        let failed = unbound.expect("it is understood").execute_update().await;
        assert_eq!(failure(failed.map(drop)), error(Code::InvalidArgument, "08P01"));
        let gone = client
            .prepare("SELECT 1".to_string(), None)
            .await
            .expect("it is understood");
        gone.clone().close().await.expect("it can be closed");
        let failed = gone.clone().execute().await;
        assert_eq!(failure(failed.map(drop)), error(Code::Internal, "26000"));
    });
}

#[test]
fn lists_are_arrays() {
    served().run(|run| async move {
        run.execute(&[
            "CREATE TABLE t (id INT PRIMARY KEY)",
            "INSERT INTO t VALUES (1), (2), (3)",
        ]);
        let mut client = run.client().await;
        let select = "SELECT id FROM t WHERE id = ANY ($1) ORDER BY id".to_string();
        let mut select = client.prepare(select, None).await.expect("it is understood");
        let mut list = rukh::arrow::array::ListBuilder::new(rukh::arrow::array::Int32Builder::new());
        list.append_value([Some(1), Some(3)]);
        let wanted = select
            .parameter_schema()
            .expect("it is described")
            .field(0)
            .data_type()
            .clone();
        assert!(matches!(wanted, DataType::List(_)), "{wanted}");
        let bound = batch(vec![("a", Arc::new(list.finish()))]);
        select.set_parameters(bound).expect("they are taken");
        let info = select.execute().await.expect("it runs");
        let ticket = info.endpoint[0].ticket.clone().expect("there is a ticket");
        let batches = client.do_get(ticket).await.expect("it runs");
        let batches: Vec<RecordBatch> = batches.try_collect().await.expect("rows come");
        assert_eq!(lines(&batches), ["1", "3"]);
    });
}
