//! rskafka at its ordinary work. `copy BOOTSTRAP PARTITIONS SOURCE SINK` reads each partition from its beginning and writes each
//! record into the same partition of another topic; `produce BOOTSTRAP PARTITIONS TOPIC ACKS` writes numbered records, of a
//! producer for each partition, and notes each acknowledgement in the file ACKS. Both run until SIGTERM.

use std::{collections::BTreeMap, env, fs::File, io::Write, rc::Rc, sync::Arc, time::Duration};

use chrono::Utc;
use futures::{StreamExt, future::join_all};
use rskafka::{
    client::{
        Client, ClientBuilder,
        consumer::{StartOffset, StreamConsumerBuilder},
        error::Result,
        partition::{Compression, PartitionClient, UnknownTopicHandling},
    },
    record::Record,
};
use tokio::signal::unix::{SignalKind, signal};

const BURST: i64 = 2;
const BATCH_MAX: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = env::args().collect();
    let [_, mode, bootstrap, partitions, from, to] = arguments.as_slice() else {
        panic!("copy BOOTSTRAP PARTITIONS SOURCE SINK, or produce BOOTSTRAP PARTITIONS TOPIC ACKS");
    };
    let brokers = bootstrap.split(',').map(str::to_owned).collect();
    let client = ClientBuilder::new(brokers).build().await.expect("no broker answers");
    let partitions = 0..partitions.parse::<i32>().expect("PARTITIONS is no number");
    let mut stopping = signal(SignalKind::terminate()).expect("SIGTERM cannot be heard");
    match mode.as_str() {
        "copy" => {
            let copies = join_all(partitions.map(|each| copy(&client, from, to, each)));
            // Copies that are cut off count for nothing.
            tokio::select! {
                _ = copies => {}
                _ = stopping.recv() => {}
            }
        }
        "produce" => {
            let acks = Rc::new(File::create(to).expect("ACKS cannot be written"));
            let stopped = tokio::sync::watch::channel(false);
            let producers = join_all(partitions.map(|each| produce(&client, from, each, acks.clone(), stopped.1.clone())));
            tokio::join!(producers, async {
                stopping.recv().await;
                stopped.0.send_replace(true);
            });
        }
        other => panic!("neither copy nor produce: {other}"),
    }
}

async fn produce(client: &Client, topic: &str, partition: i32, acks: Rc<File>, stopped: tokio::sync::watch::Receiver<bool>) {
    let sink = partition_of(client, topic, partition).await;
    for first in (0..).step_by(BURST as usize) {
        if *stopped.borrow() {
            return;
        }
        let values: Vec<_> = (first..first + BURST).map(|number| format!("rskafka-{partition} {number}")).collect();
        let records = values.iter().map(|value| record(None, value.clone().into_bytes())).collect();
        for (offset, value) in write(&sink, records).await.iter().zip(&values) {
            writeln!(&*acks, "{partition} {offset} {value}").expect("ACKS cannot be written");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What it has read it keeps to itself, as programs on rskafka do: there are no groups.
async fn copy(client: &Client, source: &str, sink: &str, partition: i32) {
    let source = Arc::new(partition_of(client, source, partition).await);
    let sink = partition_of(client, sink, partition).await;
    let mut next = StartOffset::Earliest;
    loop {
        let mut read = StreamConsumerBuilder::new(source.clone(), next).build().ready_chunks(BATCH_MAX);
        while let Some(chunk) = read.next().await {
            let found: Vec<_> = chunk.into_iter().collect::<Result<_>>().inspect_err(complain).unwrap_or_default();
            if let Some((last, _)) = found.last() {
                next = StartOffset::At(last.offset + 1);
            }
            let copies = found.into_iter().map(|(each, _)| record(each.record.key, each.record.value.unwrap_or_default()));
            write(&sink, copies.collect()).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// rskafka looks for a new leader by itself; what the broker refuses for another reason it hands back.
async fn write(sink: &PartitionClient, records: Vec<Record>) -> Vec<i64> {
    loop {
        match sink.produce(records.clone(), Compression::NoCompression).await {
            Ok(offsets) => return offsets,
            Err(error) => complain(&error),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn partition_of(client: &Client, topic: &str, partition: i32) -> PartitionClient {
    client.partition_client(topic, partition, UnknownTopicHandling::Retry).await.expect("there is no such partition")
}

fn record(key: Option<Vec<u8>>, value: Vec<u8>) -> Record {
    Record { key, value: Some(value), headers: BTreeMap::new(), timestamp: Utc::now() }
}

fn complain(error: &rskafka::client::error::Error) {
    eprintln!("{error}");
}
