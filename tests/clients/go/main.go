// franz-go behind one JSON request and one JSON answer a line, for the integration tests.
//
// Ends when its input does. A broker's refusal is answered with its error code; anything else with its text.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

type request struct {
	Op           string            `json:"op"`
	Topic        string            `json:"topic"`
	Partition    int32             `json:"partition"`
	Codec        *string           `json:"codec"`
	Idempotent   *bool             `json:"idempotent"`
	Records      []record          `json:"records"`
	Offset       int64             `json:"offset"`
	Count        int               `json:"count"`
	WaitMs       int64             `json:"wait_ms"`
	When         int64             `json:"when"`
	Partitions   int32             `json:"partitions"`
	Config       map[string]string `json:"config"`
	Name         string            `json:"name"`
	Value        string            `json:"value"`
	Total        int               `json:"total"`
	BeforeOffset int64             `json:"before_offset"`
}

type driver struct {
	bootstrap string
	admin     *kadm.Client
}

func main() {
	if os.Args[1] == "member" {
		serve(newMember(os.Args[2]).answer)
		return
	}
	if os.Args[1] == "copy" {
		copyForEver(os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6])
	}
	// The admin client would answer from metadata of up to five seconds ago: these tests look right after a change.
	client, err := kgo.NewClient(append(login(), kgo.SeedBrokers(os.Args[1]), kgo.MetadataMinAge(10*time.Millisecond))...)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	serve((&driver{os.Args[1], kadm.NewClient(client)}).answer)
}

func serve(answer func([]byte) map[string]any) {
	requests := bufio.NewReader(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for {
		line, err := requests.ReadBytes('\n')
		if err != nil {
			return
		}
		answers.Encode(answer(line))
	}
}

func (d *driver) answer(line []byte) map[string]any {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return map[string]any{"error": err.Error()}
	}
	result, err := d.handle(r)
	var refusal *kerr.Error
	switch {
	case errors.As(err, &refusal):
		return map[string]any{"code": refusal.Code, "error": err.Error()}
	case err != nil:
		return map[string]any{"error": err.Error()}
	}
	return map[string]any{"ok": result}
}

func (d *driver) handle(r request) (any, error) {
	switch r.Op {
	case "produce":
		return nil, d.produce(r)
	case "consume":
		return d.consume(r)
	case "offset_at":
		return d.offsetAt(r)
	case "topics":
		return d.topics()
	case "create_topic":
		return nil, d.createTopic(r)
	case "describe_topic":
		return d.describeTopic(r)
	case "delete_topic":
		return nil, d.deleteTopic(r)
	case "set_config":
		return nil, d.setConfig(r)
	case "config":
		return d.config(r)
	case "create_partitions":
		return nil, d.createPartitions(r)
	case "delete_records":
		return nil, d.deleteRecords(r)
	}
	return nil, fmt.Errorf("unknown op %q", r.Op)
}
