package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Copies a topic into another, each record once: consume, produce and commit the offsets in one transaction.
// Runs until it is killed; every seventh transaction is aborted on purpose.
func copyForEver(bootstrap, source, sink, group, transactionalID string) {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.TransactionalID(transactionalID),
		kgo.TransactionTimeout(20*time.Second),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(source),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.SessionTimeout(6*time.Second),
		kgo.RequireStableFetchOffsets(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	if err != nil {
		panic(err)
	}
	for count := 1; ; {
		context, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		records := session.PollRecords(context, 20).Records()
		cancel()
		if len(records) == 0 {
			continue
		}
		if err := copyOnce(session, sink, records, count%7 != 0); err != nil {
			fmt.Fprintln(os.Stderr, "again:", err)
			os.Exit(1)
		}
		count++
	}
}

func copyOnce(session *kgo.GroupTransactSession, sink string, records []*kgo.Record, commits bool) error {
	if err := session.Begin(); err != nil {
		return err
	}
	failed := kgo.AbortingFirstErrPromise(session.Client())
	for _, each := range records {
		copied := &kgo.Record{Topic: sink, Partition: each.Partition, Key: each.Key, Value: each.Value}
		session.Produce(context.Background(), copied, failed.Promise())
	}
	committed, err := session.End(context.Background(), kgo.TransactionEndTry(failed.Err() == nil && commits))
	if err == nil && !committed {
		fmt.Fprintln(os.Stderr, "abort")
	}
	return err
}
