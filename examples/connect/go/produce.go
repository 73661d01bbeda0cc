// Search and feedback events from Go: go run . BROKERS SEARCH_TOPIC FEEDBACK_TOPIC
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/twmb/franz-go/pkg/kgo"
	"log"
	"os"
	"time"
)

func main() {
	client, err := kgo.NewClient(kgo.SeedBrokers(os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	queries := []string{"용도지역 변경", "건폐율", "opening hours"}
	send := func(topic, id string, event map[string]any) {
		event["query_id"], event["ts"] = id, time.Now().UnixMilli()
		value, _ := json.Marshal(event)
		// The key joins a search with its feedback: both reach the same partition.
		record := &kgo.Record{Topic: topic, Key: []byte(id), Value: value}
		if err := client.ProduceSync(context.Background(), record).FirstErr(); err != nil {
			log.Fatal(err)
		}
	}
	for number := range 10 {
		id := fmt.Sprintf("go-%d-%d", time.Now().UnixNano(), number)
		var results [5]map[string]any // Stands for the search service: five documents.
		for rank := range results {
			results[rank] = map[string]any{"id": fmt.Sprintf("doc-%d", (number+rank)%7)}
		}
		send(os.Args[2], id, map[string]any{"query": queries[number%3], "variant": "V1", "latency_ms": 10 * (number + 1), "results": results})
		if number%2 == 0 { // The user opens a result.
			send(os.Args[3], id, map[string]any{"event_id": "click-" + id, "type": "click", "object_id": results[number%3]["id"]})
		}
	}
}
