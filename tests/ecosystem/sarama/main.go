// Sarama at its ordinary work. `copy BOOTSTRAP SOURCE SINK GROUP` copies a topic into another, each record once;
// `produce BOOTSTRAP TOPIC ACKS` writes numbered records and notes each acknowledgement in the file ACKS. Both run until SIGTERM.
// `unacked BOOTSTRAP PARTITIONS TOPIC…` makes topics, and writes to each at once without asking for acknowledgements.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/IBM/sarama"
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
	case "unacked":
		err = writeUnacked(brokers, os.Args[3], os.Args[4:])
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A producer that comes through the death of a broker: by default Sarama gives a record up after four tries within half a second.
func producing() *sarama.Config {
	config := sarama.NewConfig()
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Retry.Max = 100
	config.Producer.Retry.Backoff = 200 * time.Millisecond
	config.Metadata.Retry.Max = 20
	return config
}
