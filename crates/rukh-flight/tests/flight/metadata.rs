//! Metadata of the database, as clients browse it.

use arrow_flight::sql::{
    CommandGetCrossReference, CommandGetDbSchemas, CommandGetExportedKeys, CommandGetImportedKeys,
    CommandGetPrimaryKeys, CommandGetTables, CommandGetXdbcTypeInfo, SqlInfo,
};
use arrow_flight::{FlightInfo, IpcMessage};
use rukh::arrow::array::AsArray;
use rukh::arrow::datatypes::{DataType, Schema};

use crate::{Client, Run, fetch, lines, served};

async fn browse(client: &mut Client, info: arrow_flight::error::Result<FlightInfo>) -> Vec<String> {
    let info = info.expect("it runs");
    let found = info.clone().try_decode_schema().expect("there is a schema");
    let batches = fetch(client, info).await.expect("it is answered");
    if let Some(first) = batches.first() {
        assert_eq!(found, *first.schema());
    }
    lines(&batches)
}

fn tables(run: &Run) {
    run.execute(&[
        "CREATE TABLE people (id INT, name VARCHAR(20) NOT NULL, born DATE, PRIMARY KEY (name, id))",
        "CREATE VIEW adults AS SELECT name FROM people",
    ]);
}

#[test]
fn tables_and_their_columns_are_listed() {
    served().run(|run| async move {
        tables(&run);
        let mut client = run.client().await;
        let info = client.get_catalogs().await;
        assert_eq!(browse(&mut client, info).await, ["rukh"]);
        let info = client.get_db_schemas(CommandGetDbSchemas::default()).await;
        assert_eq!(
            browse(&mut client, info).await,
            ["rukh, information_schema", "rukh, pg_catalog", "rukh, public"]
        );
        let info = client.get_table_types().await;
        assert_eq!(browse(&mut client, info).await, ["TABLE", "VIEW"]);
        let info = client.get_tables(CommandGetTables::default()).await;
        assert_eq!(
            browse(&mut client, info).await,
            ["rukh, public, adults, VIEW", "rukh, public, people, TABLE"]
        );
        let command = CommandGetTables {
            table_name_filter_pattern: Some("pe%".to_string()),
            include_schema: true,
            ..CommandGetTables::default()
        };
        let info = client.get_tables(command).await.expect("it runs");
        let batches = fetch(&mut client, info).await.expect("it is answered");
        assert_eq!(batches[0].num_rows(), 1);
        let schema = batches[0].column(4).as_binary::<i32>().value(0).to_vec();
        let schema = Schema::try_from(IpcMessage(schema.into())).expect("it is a schema");
        let columns: Vec<_> = schema
            .fields()
            .iter()
            .map(|field| (field.name().as_str(), field.data_type().clone()))
            .collect();
        assert_eq!(
            columns,
            [
                ("id", DataType::Int32),
                ("name", DataType::Utf8),
                ("born", DataType::Date32)
            ]
        );
    });
}

#[test]
fn keys_are_listed() {
    served().run(|run| async move {
        tables(&run);
        let mut client = run.client().await;
        let command = CommandGetPrimaryKeys {
            table: "people".to_string(),
            ..CommandGetPrimaryKeys::default()
        };
        let info = client.get_primary_keys(command).await;
        assert_eq!(
            browse(&mut client, info).await,
            [
                "rukh, public, people, name, people_pkey, 1",
                "rukh, public, people, id, people_pkey, 2"
            ]
        );
        let refers = "CREATE TABLE visits (id INTEGER PRIMARY KEY, who INTEGER, called TEXT, \
                      CONSTRAINT of_person FOREIGN KEY (who, called) REFERENCES people (id, name) ON DELETE CASCADE)";
        run.execute(&[refers]);
        let expected = [
            "rukh, public, people, id, rukh, public, visits, who, 1, of_person, people_pkey, 3, 0",
            "rukh, public, people, name, rukh, public, visits, called, 2, of_person, people_pkey, 3, 0",
        ];
        let imported = |table: &str| CommandGetImportedKeys {
            table: table.to_string(),
            ..CommandGetImportedKeys::default()
        };
        let info = client.get_imported_keys(imported("visits")).await;
        assert_eq!(browse(&mut client, info).await, expected);
        let info = client.get_imported_keys(imported("people")).await;
        assert!(browse(&mut client, info).await.is_empty());
        let command = CommandGetExportedKeys {
            table: "people".to_string(),
            ..CommandGetExportedKeys::default()
        };
        let info = client.get_exported_keys(command).await;
        assert_eq!(browse(&mut client, info).await, expected);
        let command = CommandGetCrossReference {
            pk_table: "people".to_string(),
            fk_table: "visits".to_string(),
            ..CommandGetCrossReference::default()
        };
        let info = client.get_cross_reference(command).await;
        assert_eq!(browse(&mut client, info).await, expected);
    });
}

#[test]
fn the_server_tells_of_itself() {
    served().run(|run| async move {
        let mut client = run.client().await;
        let info = client
            .get_sql_info(vec![
                SqlInfo::FlightSqlServerName,
                SqlInfo::FlightSqlServerTransaction,
            ])
            .await;
        let found = browse(&mut client, info).await;
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("Rukh"), "{found:?}");
        let info = client
            .get_xdbc_type_info(CommandGetXdbcTypeInfo { data_type: Some(4) })
            .await;
        let found = browse(&mut client, info).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("INTEGER, 4, 32"), "{found:?}");
    });
}
