import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Producing, and consuming an assigned partition without a group. */
final class Messages {
    private final String bootstrap;

    Messages(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    Object produce(JsonNode request) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        if (!request.get("codec").isNull()) settings.put("compression.type", request.get("codec").asText());
        if (!request.get("idempotent").isNull()) settings.put("enable.idempotence", request.get("idempotent").asBoolean());
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (JsonNode record : request.get("records")) {
                sent.add(producer.send(outgoing(request, record)));
            }
            producer.flush();
            for (Future<RecordMetadata> one : sent) one.get();
        }
        return null;
    }

    private static ProducerRecord<byte[], byte[]> outgoing(JsonNode request, JsonNode record) throws Exception {
        Long timestamp = record.get("timestamp").isNull() ? null : record.get("timestamp").asLong();
        var outgoing = new ProducerRecord<>(request.get("topic").asText(), request.get("partition").asInt(), timestamp,
            record.get("key").binaryValue(), record.get("value").binaryValue());
        for (JsonNode header : record.get("headers")) {
            outgoing.headers().add(header.get("name").asText(), header.get("value").binaryValue());
        }
        return outgoing;
    }

    Object consume(JsonNode request) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("allow.auto.create.topics", "false");
        List<Map<String, Object>> records = new ArrayList<>();
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            TopicPartition partition = new TopicPartition(request.get("topic").asText(), request.get("partition").asInt());
            consumer.assign(List.of(partition));
            consumer.seek(partition, request.get("offset").asLong());
            long deadline = System.currentTimeMillis() + request.get("wait_ms").asLong();
            while (records.size() < request.get("count").asInt() && System.currentTimeMillis() < deadline) {
                for (var record : consumer.poll(Duration.ofSeconds(1))) {
                    if (records.size() < request.get("count").asInt()) records.add(incoming(record));
                }
            }
        }
        return records;
    }

    private static Map<String, Object> incoming(ConsumerRecord<byte[], byte[]> record) {
        List<Map<String, Object>> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            Map<String, Object> one = new HashMap<>();
            one.put("name", header.key());
            one.put("value", header.value());
            headers.add(one);
        }
        Map<String, Object> incoming = new HashMap<>();
        incoming.put("key", record.key());
        incoming.put("value", record.value());
        incoming.put("headers", headers);
        incoming.put("timestamp", record.timestamp());
        incoming.put("offset", record.offset());
        return incoming;
    }
}
