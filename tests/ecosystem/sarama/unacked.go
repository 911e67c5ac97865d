package main

import (
	"fmt"
	"strconv"

	"github.com/IBM/sarama"
)

// A record for each partition of each topic, as soon as CreateTopics has answered. Nobody tells the producer what was refused.
func writeUnacked(brokers []string, count string, topics []string) error {
	partitions, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	config := sarama.NewConfig()
	config.Producer.RequiredAcks = sarama.NoResponse
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	admin, err := sarama.NewClusterAdmin(brokers, config)
	if err != nil {
		return err
	}
	defer admin.Close()
	producer, err := sarama.NewSyncProducer(brokers, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	for _, topic := range topics {
		detail := &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 3}
		if err := admin.CreateTopic(topic, detail, false); err != nil {
			return err
		}
		for partition := range partitions {
			value := sarama.StringEncoder(fmt.Sprintf("%s %d", topic, partition))
			message := &sarama.ProducerMessage{Topic: topic, Partition: int32(partition), Value: value}
			if _, _, err := producer.SendMessage(message); err != nil {
				return err
			}
		}
	}
	return nil
}
