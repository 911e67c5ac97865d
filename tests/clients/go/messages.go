package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type header struct {
	Name  string `json:"name"`
	Value []byte `json:"value"`
}

type record struct {
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []header `json:"headers"`
	Timestamp *int64   `json:"timestamp"`
	Offset    int64    `json:"offset"`
}

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

func (d *driver) produce(r request) error {
	options := []kgo.Opt{kgo.SeedBrokers(d.bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner())}
	if r.Codec != nil {
		options = append(options, kgo.ProducerBatchCompression(codecs[*r.Codec]))
	}
	if r.Idempotent != nil && !*r.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	client, err := kgo.NewClient(append(options, login()...)...)
	if err != nil {
		return err
	}
	defer client.Close()
	outgoing := make([]*kgo.Record, 0, len(r.Records))
	for _, one := range r.Records {
		outgoing = append(outgoing, one.outgoing(r))
	}
	return client.ProduceSync(context.Background(), outgoing...).FirstErr()
}

func (one record) outgoing(r request) *kgo.Record {
	out := &kgo.Record{Topic: r.Topic, Partition: r.Partition, Key: one.Key, Value: one.Value}
	if one.Timestamp != nil {
		out.Timestamp = time.UnixMilli(*one.Timestamp)
	}
	for _, h := range one.Headers {
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: h.Name, Value: h.Value})
	}
	return out
}

func (d *driver) consume(r request) ([]record, error) {
	start := map[string]map[int32]kgo.Offset{r.Topic: {r.Partition: kgo.NewOffset().At(r.Offset)}}
	client, err := kgo.NewClient(append(login(), kgo.SeedBrokers(d.bootstrap), kgo.ConsumePartitions(start))...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	deadline, cancel := context.WithTimeout(context.Background(), time.Duration(r.WaitMs)*time.Millisecond)
	defer cancel()
	records := []record{}
	for len(records) < r.Count && deadline.Err() == nil {
		fetches := client.PollRecords(deadline, r.Count-len(records))
		if err := fetches.Err(); err != nil && deadline.Err() == nil {
			return nil, err
		}
		fetches.EachRecord(func(in *kgo.Record) { records = append(records, incoming(in)) })
	}
	return records, nil
}

func incoming(in *kgo.Record) record {
	timestamp := in.Timestamp.UnixMilli()
	one := record{Key: in.Key, Value: in.Value, Timestamp: &timestamp, Offset: in.Offset}
	for _, h := range in.Headers {
		one.Headers = append(one.Headers, header{h.Key, h.Value})
	}
	return one
}
