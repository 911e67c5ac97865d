package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
)

var background = context.Background()

func (d *driver) offsetAt(r request) (int64, error) {
	listed, err := d.list(r)
	if err != nil {
		return 0, err
	}
	offset, _ := listed.Lookup(r.Topic, r.Partition)
	return offset.Offset, offset.Err
}

func (d *driver) list(r request) (kadm.ListedOffsets, error) {
	switch r.When {
	case -2:
		return d.admin.ListStartOffsets(background, r.Topic)
	case -1:
		return d.admin.ListEndOffsets(background, r.Topic)
	}
	return d.admin.ListOffsetsAfterMilli(background, r.When, r.Topic)
}

func (d *driver) topics() (map[string]int, error) {
	details, err := d.admin.ListTopics(background)
	partitions := map[string]int{}
	for name, topic := range details {
		partitions[name] = len(topic.Partitions)
	}
	return partitions, err
}

func (d *driver) createTopic(r request) error {
	config := map[string]*string{}
	for name, value := range r.Config {
		config[name] = &value
	}
	_, err := d.admin.CreateTopic(background, r.Partitions, -1, config, r.Topic)
	return err
}

func (d *driver) describeTopic(r request) (map[string]any, error) {
	details, err := d.admin.ListTopics(background, r.Topic)
	if err != nil {
		return nil, err
	}
	topic := details[r.Topic]
	return map[string]any{"partitions": len(topic.Partitions), "id": topic.ID.String()}, topic.Err
}

func (d *driver) deleteTopic(r request) error {
	answer, err := d.admin.DeleteTopic(background, r.Topic)
	if err != nil {
		return err
	}
	return answer.Err
}

func (d *driver) setConfig(r request) error {
	change := kadm.AlterConfig{Op: kadm.SetConfig, Name: r.Name, Value: &r.Value}
	answers, err := d.admin.AlterTopicConfigs(background, []kadm.AlterConfig{change}, r.Topic)
	if err != nil {
		return err
	}
	answer, err := answers.On(r.Topic, nil)
	if err != nil {
		return err
	}
	return answer.Err
}

func (d *driver) config(r request) (map[string]string, error) {
	described, err := d.admin.DescribeTopicConfigs(background, r.Topic)
	if err != nil {
		return nil, err
	}
	topic, err := described.On(r.Topic, nil)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, entry := range topic.Configs {
		values[entry.Key] = entry.MaybeValue()
	}
	return values, topic.Err
}

func (d *driver) createPartitions(r request) error {
	answers, err := d.admin.UpdatePartitions(background, r.Total, r.Topic)
	if err != nil {
		return err
	}
	return answers.Error()
}

func (d *driver) deleteRecords(r request) error {
	before := kadm.Offsets{}
	before.AddOffset(r.Topic, r.Partition, r.BeforeOffset, -1)
	answers, err := d.admin.DeleteRecords(background, before)
	if err != nil {
		return err
	}
	return answers.Error()
}
