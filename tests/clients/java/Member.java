import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** One member of a consumer group, behind one JSON request and one JSON answer a line. Ends when its input does. */
public final class Member {
    private static final Map<String, String> ASSIGNORS = Map.of(
        "range", "RangeAssignor", "roundrobin", "RoundRobinAssignor",
        "sticky", "StickyAssignor", "cooperative-sticky", "CooperativeStickyAssignor");

    private final String bootstrap;
    private final Map<TopicPartition, Long> positions = new HashMap<>();
    private String topic;
    private KafkaConsumer<byte[], byte[]> consumer;

    private Member(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        PrintStream answers = new PrintStream(System.out, true, "UTF-8");
        Member member = new Member(arguments[0]);
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(Driver.JSON.writeValueAsString(member.answer(Driver.JSON.readTree(line))));
        }
        System.exit(0);
    }

    private Map<String, Object> answer(JsonNode request) {
        Map<String, Object> answer = new HashMap<>();
        try {
            answer.put("ok", handle(request));
        } catch (Exception error) {
            answer.put("error", error.toString());
        }
        return answer;
    }

    private Object handle(JsonNode request) {
        switch (request.get("op").asText()) {
            case "join": return join(request);
            case "poll": return poll(request.get("wait_ms").asLong());
            case "commit": return commit(request.get("metadata").asText());
            case "committed": return committed(where(request));
            case "seek": consumer.seek(where(request), request.get("offset").asLong()); return true;
            case "leave": consumer.close(); return true;
            default: throw new IllegalArgumentException("unknown op in " + request);
        }
    }

    private Object join(JsonNode request) {
        Properties settings = new Properties();
        int session = request.get("session_ms").asInt();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", request.get("group").asText());
        if (request.has("protocol")) {
            settings.put("group.protocol", request.get("protocol").asText());
            settings.put("group.remote.assignor", request.get("assignor").asText());
        } else {
            settings.put("partition.assignment.strategy",
                "org.apache.kafka.clients.consumer." + ASSIGNORS.get(request.get("assignor").asText()));
            settings.put("session.timeout.ms", session);
            settings.put("heartbeat.interval.ms", 200);
        }
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", request.get("auto_commit").asBoolean());
        settings.put("auto.commit.interval.ms", 200);
        if (!request.get("instance_id").isNull()) settings.put("group.instance.id", request.get("instance_id").asText());
        topic = request.get("topic").asText();
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(List.of(topic));
        return true;
    }

    private Object poll(long waitMs) {
        List<List<Long>> records = new ArrayList<>();
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(waitMs))) {
            records.add(List.of((long) record.partition(), record.offset()));
            positions.put(new TopicPartition(topic, record.partition()), record.offset() + 1);
        }
        positions.keySet().retainAll(consumer.assignment());
        return Map.of("assigned", numbers(consumer.assignment()), "records", records);
    }

    private Object commit(String metadata) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        Map<Integer, Long> committed = new HashMap<>();
        positions.forEach((where, offset) -> {
            offsets.put(where, new OffsetAndMetadata(offset, metadata));
            committed.put(where.partition(), offset);
        });
        consumer.commitSync(offsets);
        return committed;
    }

    private Object committed(TopicPartition where) {
        OffsetAndMetadata found = consumer.committed(Set.of(where)).get(where);
        return found == null ? null : List.of(found.offset(), found.metadata());
    }

    private TopicPartition where(JsonNode request) {
        return new TopicPartition(topic, request.get("partition").asInt());
    }

    private static List<Integer> numbers(Set<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::partition).sorted().toList();
    }
}
