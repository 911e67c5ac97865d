package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/IBM/sarama"
)

const (
	burst = 5
	pause = 20 * time.Millisecond
)

// An idempotent asynchronous producer with its default partitioner.
func produce(ctx context.Context, brokers []string, topic, acks string) error {
	noted, err := os.Create(acks)
	if err != nil {
		return err
	}
	producer, err := sarama.NewAsyncProducer(brokers, producing())
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() {
		var first error
		for err := range producer.Errors() {
			first = err
		}
		failed <- first
	}()
	finished := make(chan struct{})
	go func() {
		for message := range producer.Successes() {
			value, _ := message.Value.Encode()
			fmt.Fprintf(noted, "%d %d %s\n", message.Partition, message.Offset, value)
		}
		close(finished)
	}()
	for number := 0; ctx.Err() == nil; number++ {
		value := fmt.Sprintf("sarama %d", number)
		producer.Input() <- &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)}
		if number%burst == burst-1 {
			time.Sleep(pause)
		}
	}
	producer.AsyncClose()
	<-finished
	if err := <-failed; err != nil {
		fmt.Fprintln(os.Stderr, "not delivered:", err)
		os.Exit(1)
	}
	return noted.Close()
}
