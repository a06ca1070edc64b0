//! Ranges, filters that servers evaluate, the past, and what it takes:
//! `cargo run -p rukh-hbase --example scans -- hbase://127.0.0.1:PORT/default`

use std::sync::Arc;

use bytes::Bytes;
use rukh_hbase::{CellKind, Client, Error, Family, Filter, Meter, Mutation, RowRequest, Scan, Settings};

/// Reads the keys of a scan.
async fn keys(client: &Client, scan: Scan) -> Result<Vec<String>, Error> {
    let mut scanner = client.scan("readings", scan);
    let mut keys = Vec::new();
    while let Some(row) = scanner.next().await? {
        keys.push(String::from_utf8_lossy(&row.key()).into_owned());
    }
    Ok(keys)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "hbase://127.0.0.1:16000".to_string());
    let meter = Arc::new(Meter::default());
    let client = Client::new(&url, Settings::default())?.counted(Arc::clone(&meter));
    let family = Family::new("d", &[("VERSIONS", "10")]);
    client
        .create_table("readings", &[family], vec![Bytes::from_static(b"sensor5")])
        .await?;
    // Sensors 0 to 9, hours 00 to 23; each is written at time 1, and those of hour 12 again at time 2.
    let put = |sensor: u32, hour: u32, time: u64| {
        let row = format!("sensor{sensor}/{hour:02}");
        let value = (sensor * hour).to_string();
        RowRequest::mutate(
            "readings",
            Mutation::put(row).cell(CellKind::Put, "d", "v", time, value),
        )
    };
    let first = (0..10).flat_map(|sensor| (0..24).map(move |hour| (sensor, hour, 1)));
    let second = (0..10).map(|sensor| (sensor, 12, 2));
    for outcome in client
        .batch(
            first
                .chain(second)
                .map(|(sensor, hour, time)| put(sensor, hour, time))
                .collect(),
        )
        .await
    {
        outcome?;
    }

    // The three newest of a sensor.
    let newest = Scan::range_backward("sensor3/", "sensor30").limit(3);
    assert_eq!(
        keys(&client, newest).await?,
        ["sensor3/23", "sensor3/22", "sensor3/21"]
    );

    // Hour 07 of all sensors: the servers look at the bytes that are `true`, and seek from one to the next.
    let mask: Vec<bool> = "sensor?/07".bytes().map(|byte| byte != b'?').collect();
    let hour = Filter::fuzzy([(Bytes::from_static(b"sensor?/07"), mask)]);
    let found = keys(&client, Scan::all().filter(hour)).await?;
    assert_eq!(found.len(), 10, "{found:?}");

    // What was written at time 2 or later.
    let found = keys(&client, Scan::all().times(2, u64::MAX >> 1)).await?;
    assert_eq!(found.len(), 10, "{found:?}");

    let mut scanner = client.scan("readings", Scan::range("sensor2", "sensor4").measured());
    while scanner.next().await?.is_some() {}
    println!(
        "two sensors: {} calls, the servers count {:?}",
        scanner.calls(),
        scanner.metrics()
    );
    println!("all of it: {:?}", meter.traffic());
    client.disable_table("readings").await?;
    client.delete_table("readings").await
}
