package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/IBM/sarama"
)

const batchMax = 50

// Consume, produce and commit the offsets in one transaction, with a transactional producer for each partition. What
// goes wrong ends the session: the next one begins at the offsets of the last transaction that was committed.
func copyTopic(ctx context.Context, brokers []string, source, sink, group string) error {
	config := sarama.NewConfig()
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Return.Errors = true
	config.Metadata.Retry.Max = 20
	members, err := sarama.NewConsumerGroup(brokers, group, config)
	if err != nil {
		return err
	}
	defer members.Close()
	go func() {
		for err := range members.Errors() {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	for ctx.Err() == nil {
		if err := members.Consume(ctx, []string{source}, copier{ctx, brokers, sink, group}); err != nil {
			fmt.Fprintln(os.Stderr, "session:", err)
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

type copier struct {
	ctx     context.Context
	brokers []string
	sink    string
	group   string
}

func (copier) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (copier) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (c copier) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	config := producing()
	config.Producer.Transaction.ID = fmt.Sprintf("%s-%d", c.group, claim.Partition())
	producer, err := sarama.NewSyncProducer(c.brokers, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	for {
		batch := nextBatch(session.Context(), claim.Messages())
		if len(batch) == 0 {
			return nil
		}
		if err := c.copyBatch(producer, session, batch); err != nil {
			fmt.Fprintln(os.Stderr, "batch:", err)
			for producer.TxnStatus()&sarama.ProducerTxnFlagAbortableError != 0 {
				if err := producer.AbortTxn(); err != nil {
					fmt.Fprintln(os.Stderr, "abort:", err)
					break
				}
			}
			return err
		}
	}
}

func (c copier) copyBatch(
	producer sarama.SyncProducer, session sarama.ConsumerGroupSession, batch []*sarama.ConsumerMessage,
) error {
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	copies := make([]*sarama.ProducerMessage, len(batch))
	for i, each := range batch {
		copies[i] = &sarama.ProducerMessage{
			Topic: c.sink, Key: sarama.ByteEncoder(each.Key), Value: sarama.ByteEncoder(each.Value),
		}
	}
	if err := producer.SendMessages(copies); err != nil {
		return err
	}
	member := sarama.NewConsumerGroupMetadataFromSession(session, c.group, nil)
	if err := producer.AddMessageToTxnWithGroupMetadata(batch[len(batch)-1], member, nil); err != nil {
		return err
	}
	return producer.CommitTxn()
}

// What is there, as soon as anything is; nothing at the end of the session.
func nextBatch(ctx context.Context, messages <-chan *sarama.ConsumerMessage) []*sarama.ConsumerMessage {
	select {
	case <-ctx.Done():
		return nil
	case first, ok := <-messages:
		if !ok {
			return nil
		}
		batch := []*sarama.ConsumerMessage{first}
		for len(batch) < batchMax {
			select {
			case next, ok := <-messages:
				if !ok {
					return batch
				}
				batch = append(batch, next)
			default:
				return batch
			}
		}
		return batch
	}
}
