//! sqlx: a pool, types both ways, transactions, COPY, and what `query!` asks of a server to check a statement.

use futures_util::TryStreamExt;
use sqlx::postgres::{PgConnectOptions, PgPoolCopyExt, PgPoolOptions};
use sqlx::types::chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use sqlx::types::{Decimal, Uuid};
use sqlx::{Column, Connection, Either, Executor, PgPool, Row, Statement, TypeInfo};

type Numbers = (i32, bool, i16, i64, f32, f64, Decimal);
type Others = (
    String,
    Vec<u8>,
    NaiveDate,
    NaiveTime,
    NaiveDateTime,
    DateTime<Utc>,
    Uuid,
);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).ok_or("the port is not given")?;
    let options = PgConnectOptions::new().host("127.0.0.1").port(port.parse()?);
    let options = options.username("tester").database("rukh");
    let pool = PgPoolOptions::new()
        .max_connections(2)
        .connect_with(options)
        .await?;
    types(&pool).await?;
    transactions(&pool).await?;
    copies(&pool).await?;
    describes(&pool).await?;
    Ok(())
}

async fn types(pool: &PgPool) -> Result<(), Box<dyn std::error::Error>> {
    sqlx::raw_sql(
        "CREATE TABLE kinds (id int PRIMARY KEY, b boolean NOT NULL, s smallint, l bigint, r real, d double precision,
         n numeric(10,2), t text, raw bytea, dd date, tt time, ts timestamp, tz timestamptz, u uuid)",
    )
    .execute(pool)
    .await?;
    let moment = NaiveDate::from_ymd_opt(2024, 1, 2)
        .and_then(|date| date.and_hms_micro_opt(3, 4, 5, 678))
        .ok_or("a moment")?;
    let numbers: Numbers = (1, true, 7, 1 << 40, 0.5, 1.5, Decimal::new(1234, 2));
    let others: Others = (
        "Zoë".to_string(),
        vec![0, 255],
        NaiveDate::from_ymd_opt(2020, 2, 29).ok_or("a date")?,
        NaiveTime::from_hms_opt(1, 2, 3).ok_or("a time")?,
        moment,
        moment.and_utc(),
        Uuid::from_u128(0xa0ee_bc99_9c0b_4ef8_bb6d_6bb9_bd38_0a11),
    );
    let done = sqlx::query("INSERT INTO kinds VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14)")
        .bind(numbers.0)
        .bind(numbers.1)
        .bind(numbers.2)
        .bind(numbers.3)
        .bind(numbers.4)
        .bind(numbers.5)
        .bind(numbers.6)
        .bind(&others.0)
        .bind(&others.1)
        .bind(others.2)
        .bind(others.3)
        .bind(others.4)
        .bind(others.5)
        .bind(others.6)
        .execute(pool)
        .await?;
    println!("inserted {}", done.rows_affected());
    let found: Numbers = sqlx::query_as("SELECT id, b, s, l, r, d, n FROM kinds WHERE id = $1")
        .bind(1)
        .fetch_one(pool)
        .await?;
    println!("same {}", found == numbers);
    let found: Others = sqlx::query_as("SELECT t, raw, dd, tt, ts, tz, u FROM kinds WHERE id = $1")
        .bind(1)
        .fetch_one(pool)
        .await?;
    println!("same {}", found == others);
    sqlx::query("INSERT INTO kinds (id, b) VALUES ($1, $2)")
        .bind(2)
        .bind(false)
        .execute(pool)
        .await?;
    let nothing: (Option<String>, Option<Decimal>, Option<Uuid>) =
        sqlx::query_as("SELECT t, n, u FROM kinds WHERE id = 2")
            .fetch_one(pool)
            .await?;
    println!("nulls {nothing:?}");
    let ids: Vec<i32> = sqlx::query_scalar("SELECT id FROM kinds WHERE id = ANY($1) ORDER BY id")
        .bind(vec![2, 1, 9])
        .fetch_all(pool)
        .await?;
    println!("any {ids:?}");
    let all: Vec<i32> = sqlx::query_scalar("SELECT array_agg(id ORDER BY id) FROM kinds")
        .fetch_one(pool)
        .await?;
    println!("array {all:?}");
    let mut rows = sqlx::query("SELECT value FROM generate_series(1, 5000) AS t(value)").fetch(pool);
    let mut sum = 0;
    while let Some(row) = rows.try_next().await? {
        sum += i64::from(row.try_get::<i32, _>(0)?);
    }
    println!("streamed {sum}");
    Ok(())
}

async fn transactions(pool: &PgPool) -> Result<(), Box<dyn std::error::Error>> {
    let count = || sqlx::query_scalar::<_, i64>("SELECT count(*) FROM kinds").fetch_one(pool);
    let mut transaction = pool.begin().await?;
    sqlx::query("INSERT INTO kinds (id, b) VALUES (3, true)")
        .execute(&mut *transaction)
        .await?;
    let mut inner = transaction.begin().await?;
    sqlx::query("DELETE FROM kinds").execute(&mut *inner).await?;
    inner.rollback().await?;
    transaction.commit().await?;
    println!("committed {}", count().await?);
    let mut dropped = pool.begin().await?;
    sqlx::query("DELETE FROM kinds").execute(&mut *dropped).await?;
    drop(dropped);
    println!("dropped {}", count().await?);
    let error = sqlx::query("INSERT INTO kinds (id, b) VALUES (1, true)")
        .execute(pool)
        .await;
    let error = error.err().ok_or("the key is there")?;
    let error = error.as_database_error().ok_or("the server said so")?;
    println!(
        "error {:?} {:?} unique {}",
        error.code(),
        error.constraint(),
        error.is_unique_violation()
    );
    let error = sqlx::query("INSERT INTO kinds (id) VALUES (10)")
        .execute(pool)
        .await;
    let error = error.err().ok_or("a column is missing")?;
    println!(
        "error {:?}",
        error.as_database_error().and_then(|error| error.code())
    );
    Ok(())
}

async fn copies(pool: &PgPool) -> Result<(), Box<dyn std::error::Error>> {
    let mut copy = pool
        .copy_in_raw("COPY kinds (id, b, t) FROM STDIN WITH (FORMAT csv)")
        .await?;
    copy.send("100,true,\"a,b\"\n101,fal".as_bytes()).await?;
    copy.send("se,\n".as_bytes()).await?;
    println!("copied {}", copy.finish().await?);
    let copy = pool
        .copy_out_raw("COPY (SELECT id, b, t FROM kinds WHERE id >= 100 ORDER BY id) TO STDOUT")
        .await?;
    let parts: Vec<_> = copy.try_collect().await?;
    print!("{}", String::from_utf8(parts.concat())?);
    let mut copy = pool
        .copy_in_raw("COPY kinds (id, b, t) FROM STDIN WITH (FORMAT csv)")
        .await?;
    copy.send("200,true,x\n".as_bytes()).await?;
    copy.abort("changed my mind").await?;
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM kinds WHERE id = 200")
        .fetch_one(pool)
        .await?;
    println!("aborted {count}");
    Ok(())
}

/// What the macros ask for: types of parameters, names, types and nullability of columns, and a plan.
async fn describes(pool: &PgPool) -> Result<(), Box<dyn std::error::Error>> {
    let prepared = pool
        .prepare("SELECT id, n, t AS name FROM kinds WHERE id > $1 AND t = $2")
        .await?;
    if let Some(Either::Left(types)) = prepared.parameters() {
        println!(
            "parameters {:?}",
            types.iter().map(TypeInfo::name).collect::<Vec<_>>()
        );
    }
    for column in prepared.columns() {
        println!("column {} {}", column.name(), column.type_info().name());
    }
    let described = pool
        .describe("SELECT id, b, n, t FROM kinds WHERE id > $1")
        .await?;
    for (at, column) in described.columns().iter().enumerate() {
        println!(
            "described {} {} nullable {:?}",
            column.name(),
            column.type_info().name(),
            described.nullable(at)
        );
    }
    let described = pool
        .describe("INSERT INTO kinds (id, b) VALUES ($1, $2) RETURNING id, t")
        .await?;
    println!(
        "returning {:?}",
        described
            .columns()
            .iter()
            .map(|column| column.name())
            .collect::<Vec<_>>()
    );
    Ok(())
}
