// Search and feedback events from Go: go run send.go http://127.0.0.1:4318
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

type event = map[string]any

func send(path string, events []event) {
	body, _ := json.Marshal(events) // Texts and numbers: it cannot fail.
	// A repeated request counts once: events have ids.
	for attempt := 0; attempt < 5; attempt++ {
		answer, err := http.Post(os.Args[1]+path, "application/json", bytes.NewReader(body))
		if err == nil && answer.StatusCode == http.StatusOK {
			var result struct{ Rejected []event }
			if json.NewDecoder(answer.Body).Decode(&result) != nil || len(result.Rejected) > 0 {
				log.Fatal(result.Rejected)
			}
			return
		}
		time.Sleep(time.Second) // As Retry-After of 429 and 503 states.
	}
	log.Fatal(path, ": no answer")
}

func main() {
	queries, now := []string{"용도지역 변경", "건폐율", "opening hours"}, time.Now().UnixMilli()
	var searches, clicks []event
	for number := range 10 {
		id, results := fmt.Sprintf("go-%d-%d", now, number), []event{}
		for rank := range 5 { // Stands for the search service.
			results = append(results, event{"id": fmt.Sprintf("doc-%d", (number+rank)%7), "rank": rank + 1})
		}
		searches = append(searches, event{"query_id": id, "ts": now, "variant": "V1",
			"query": queries[number%3], "latency_ms": 10 * (number + 1), "results": results})
		if number%2 == 0 { // The user opens a result.
			clicks = append(clicks, event{"event_id": "click-" + id, "query_id": id, "ts": now,
				"type": "click", "object_id": results[number%3]["id"]})
		}
	}
	send("/v1/searches", searches) // Many events in a request cost the least.
	send("/v1/feedback", clicks)
}
