package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type memberRequest struct {
	Op         string `json:"op"`
	Group      string `json:"group"`
	Topic      string `json:"topic"`
	Assignor   string `json:"assignor"`
	InstanceID string `json:"instance_id"`
	SessionMs  int    `json:"session_ms"`
	AutoCommit bool   `json:"auto_commit"`
	Protocol   string `json:"protocol"`
	WaitMs     int    `json:"wait_ms"`
	Metadata   string `json:"metadata"`
	Partition  int32  `json:"partition"`
	Offset     int64  `json:"offset"`
}

// One member of a consumer group. Partitions come and go in callbacks, from other goroutines.
type member struct {
	bootstrap string
	joined    memberRequest
	client    *kgo.Client
	lock      sync.Mutex
	assigned  map[int32]bool
	positions map[int32]kgo.EpochOffset
}

var balancers = map[string]kgo.GroupBalancer{
	"range":              kgo.RangeBalancer(),
	"roundrobin":         kgo.RoundRobinBalancer(),
	"sticky":             kgo.StickyBalancer(),
	"cooperative-sticky": kgo.CooperativeStickyBalancer(),
	"uniform":            kgo.StickyBalancer(),
}

func newMember(bootstrap string) *member {
	return &member{bootstrap: bootstrap, assigned: map[int32]bool{}, positions: map[int32]kgo.EpochOffset{}}
}

func (m *member) answer(line []byte) map[string]any {
	var r memberRequest
	if err := json.Unmarshal(line, &r); err != nil {
		return map[string]any{"error": err.Error()}
	}
	result, err := m.handle(r)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	return map[string]any{"ok": result}
}

func (m *member) handle(r memberRequest) (any, error) {
	switch r.Op {
	case "join":
		return true, m.join(r)
	case "poll":
		return m.poll(r)
	case "commit":
		return m.commit(r.Metadata)
	case "committed":
		return m.committed(r.Partition)
	case "seek":
		m.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{m.joined.Topic: {r.Partition: {Epoch: -1, Offset: r.Offset}}})
		return true, nil
	case "leave":
		m.client.Close()
		return true, nil
	}
	return nil, fmt.Errorf("unknown op %q", r.Op)
}

func (m *member) join(r memberRequest) error {
	m.joined = r
	session := time.Duration(r.SessionMs) * time.Millisecond
	options := []kgo.Opt{
		kgo.SeedBrokers(m.bootstrap), kgo.ConsumerGroup(r.Group), kgo.ConsumeTopics(r.Topic),
		kgo.Balancers(balancers[r.Assignor]), kgo.SessionTimeout(session), kgo.HeartbeatInterval(200*time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, gained map[string][]int32) { m.change(gained, true) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { m.change(lost, false) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { m.change(lost, false) }),
	}
	if r.Protocol == "consumer" {
		// The library's own way to opt in. It asks the broker for what its first balancer is like.
		options = append(options, kgo.WithContext(context.WithValue(context.Background(), "opt_in_kafka_next_gen_balancer_beta", true)))
	}
	if r.InstanceID != "" {
		options = append(options, kgo.InstanceID(r.InstanceID))
	}
	if r.AutoCommit {
		options = append(options, kgo.AutoCommitInterval(200*time.Millisecond))
	} else {
		options = append(options, kgo.DisableAutoCommit())
	}
	client, err := kgo.NewClient(append(options, login()...)...)
	m.client = client
	return err
}

func (m *member) change(topics map[string][]int32, ours bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, partition := range topics[m.joined.Topic] {
		if ours {
			m.assigned[partition] = true
		} else {
			delete(m.assigned, partition)
			delete(m.positions, partition)
		}
	}
}

func (m *member) poll(r memberRequest) (any, error) {
	deadline, cancel := context.WithTimeout(context.Background(), time.Duration(r.WaitMs)*time.Millisecond)
	defer cancel()
	fetches := m.client.PollFetches(deadline)
	m.lock.Lock()
	defer m.lock.Unlock()
	records := [][2]int64{}
	fetches.EachRecord(func(in *kgo.Record) {
		records = append(records, [2]int64{int64(in.Partition), in.Offset})
		if m.assigned[in.Partition] {
			m.positions[in.Partition] = kgo.EpochOffset{Epoch: in.LeaderEpoch, Offset: in.Offset + 1}
		}
	})
	assigned := []int32{}
	for partition := range m.assigned {
		assigned = append(assigned, partition)
	}
	_, generation := m.client.GroupMetadata()
	return map[string]any{"assigned": assigned, "records": records, "generation": generation}, nil
}

func (m *member) commit(metadata string) (any, error) {
	m.lock.Lock()
	offsets, committed := map[int32]kgo.EpochOffset{}, map[int32]int64{}
	for partition, position := range m.positions {
		offsets[partition] = position
		committed[partition] = position.Offset
	}
	m.lock.Unlock()
	ctx := kgo.PreCommitFnContext(context.Background(), func(request *kmsg.OffsetCommitRequest) error {
		for _, topic := range request.Topics {
			for i := range topic.Partitions {
				topic.Partitions[i].Metadata = &metadata
			}
		}
		return nil
	})
	var failed error
	all := map[string]map[int32]kgo.EpochOffset{m.joined.Topic: offsets}
	m.client.CommitOffsetsSync(ctx, all, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
		failed = err
		if err == nil {
			failed = refusal(answer)
		}
	})
	return committed, failed
}

func refusal(answer *kmsg.OffsetCommitResponse) error {
	for _, topic := range answer.Topics {
		for _, partition := range topic.Partitions {
			if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *member) committed(partition int32) (any, error) {
	found, err := kadm.NewClient(m.client).FetchOffsets(context.Background(), m.joined.Group)
	if err != nil {
		return nil, err
	}
	offset, there := found.Lookup(m.joined.Topic, partition)
	if !there || offset.At < 0 {
		return nil, offset.Err
	}
	return []any{offset.At, offset.Metadata}, offset.Err
}
