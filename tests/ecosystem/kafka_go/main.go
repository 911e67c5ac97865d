// kafka-go at its ordinary work. `copy BOOTSTRAP SOURCE SINK GROUP` copies a topic into another as a consumer group, each record
// at least once; `produce BOOTSTRAP TOPIC ACKS` writes numbered records and notes each acknowledgement in the file ACKS. Both
// run until SIGTERM.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"
)

const (
	burst    = 5
	batchMax = 50
	pause    = 20 * time.Millisecond
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	brokers := strings.Split(os.Args[2], ",")
	var err error
	switch os.Args[1] {
	case "copy":
		err = copyTopic(ctx, brokers, os.Args[3], os.Args[4], os.Args[5])
	case "produce":
		err = produce(ctx, brokers, os.Args[3], os.Args[4])
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// By default a Writer asks for no acknowledgement and waits a second for a batch to fill; it looks for a new leader every
// six seconds, and gives a record up after ten attempts in seven.
func writer(brokers []string, topic string) *kafka.Writer {
	return &kafka.Writer{
		Addr:         kafka.TCP(brokers...),
		Topic:        topic,
		RequiredAcks: kafka.RequireAll,
		BatchTimeout: 5 * time.Millisecond,
		MaxAttempts:  60,
		Transport:    &kafka.Transport{MetadataTTL: time.Second},
		ErrorLogger:  kafka.LoggerFunc(complain),
	}
}

func produce(ctx context.Context, brokers []string, topic, acks string) error {
	noted, err := os.Create(acks)
	if err != nil {
		return err
	}
	var lock sync.Mutex
	sink := writer(brokers, topic)
	sink.Completion = func(messages []kafka.Message, err error) {
		if err != nil {
			return
		}
		lock.Lock()
		defer lock.Unlock()
		for _, each := range messages {
			fmt.Fprintf(noted, "%d %d %s\n", each.Partition, each.Offset, each.Value)
		}
	}
	for number := 0; ctx.Err() == nil; number += burst {
		messages := make([]kafka.Message, burst)
		for i := range messages {
			messages[i].Value = fmt.Appendf(nil, "kafka-go %d", number+i)
		}
		// Not cut off by SIGTERM: what was handed over is finished.
		write(context.Background(), sink, messages)
		time.Sleep(pause)
	}
	if err := sink.Close(); err != nil {
		return err
	}
	return noted.Close()
}

// Offsets are committed after the copies are acknowledged, so that a record may be copied twice, and none is left out.
func copyTopic(ctx context.Context, brokers []string, source, sink, group string) error {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:     brokers,
		GroupID:     group,
		Topic:       source,
		StartOffset: kafka.FirstOffset,
		MaxWait:     200 * time.Millisecond,
		ErrorLogger: kafka.LoggerFunc(complain),
	})
	defer reader.Close()
	copies := writer(brokers, sink)
	defer copies.Close()
	for {
		batch, err := nextBatch(ctx, reader)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			// A Reader that could not join its group says so, and tries again.
			complain("read: %v", err)
			continue
		}
		messages := make([]kafka.Message, len(batch))
		for i, each := range batch {
			messages[i] = kafka.Message{Key: each.Key, Value: each.Value}
		}
		if write(ctx, copies, messages); ctx.Err() != nil {
			return ctx.Err()
		}
		if err := reader.CommitMessages(ctx, batch...); err != nil {
			complain("commit: %v", err)
		}
	}
}

// A Writer tries again by itself, but not where a partition has no leader at the moment: what it gave up is handed to it again.
func write(ctx context.Context, sink *kafka.Writer, messages []kafka.Message) {
	for len(messages) > 0 && ctx.Err() == nil {
		err := sink.WriteMessages(ctx, messages...)
		if err == nil {
			return
		}
		complain("write: %v", err)
		var each kafka.WriteErrors
		if errors.As(err, &each) {
			var left []kafka.Message
			for i := range each {
				if each[i] != nil {
					left = append(left, messages[i])
				}
			}
			messages = left
		}
		time.Sleep(pause)
	}
}

func nextBatch(ctx context.Context, reader *kafka.Reader) ([]kafka.Message, error) {
	first, err := reader.FetchMessage(ctx)
	if err != nil {
		return nil, err
	}
	batch := []kafka.Message{first}
	soon, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	for len(batch) < batchMax {
		next, err := reader.FetchMessage(soon)
		if err != nil {
			break
		}
		batch = append(batch, next)
	}
	return batch, nil
}

func complain(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
}
