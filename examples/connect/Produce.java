// Search and feedback events from Java: java -cp 'libs/*' Produce.java BROKERS SEARCH_TOPIC FEEDBACK_TOPIC
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.StringSerializer;

public class Produce {
    static final String[] QUERIES = {"용도지역 변경", "건폐율", "opening hours"};
    static final ObjectMapper JSON = new ObjectMapper();

    /** Stands for the search service: five documents. */
    static List<String> search(String text, int number) {
        return IntStream.range(0, 5).mapToObj(rank -> "doc-" + (number + rank) % 7).toList();
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", args[0], "enable.idempotence", true);
        var text = new StringSerializer();
        try (var producer = new KafkaProducer<>(settings, text, text)) {
            for (int number = 0; number < 10; number++) {
                String id = UUID.randomUUID().toString(), query = QUERIES[number % 3];
                List<String> documents = search(query, number);
                var results = documents.stream().map(document -> Map.of("id", document)).toList();
                // The key joins a search with its feedback: both reach the same partition.
                producer.send(new ProducerRecord<>(args[1], id, JSON.writeValueAsString(Map.of(
                    "query_id", id, "ts", System.currentTimeMillis(), "query", query, "variant", "V1",
                    "latency_ms", 10 * (number + 1), "results", results)))).get();
                if (number % 2 == 0) { // The user opens a result.
                    producer.send(new ProducerRecord<>(args[2], id, JSON.writeValueAsString(Map.of(
                        "event_id", UUID.randomUUID().toString(), "query_id", id, "type", "click",
                        "ts", System.currentTimeMillis(), "object_id", documents.get(number % 3))))).get();
                }
            }
        }
    }
}
