import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** Topics, their configuration and their offsets, through the admin client. */
final class Topics implements AutoCloseable {
    private final Admin admin;

    Topics(String bootstrap) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        admin = Admin.create(settings);
    }

    @Override
    public void close() {
        admin.close();
    }

    Object offsetAt(JsonNode request) throws Exception {
        TopicPartition partition = partition(request);
        return admin.listOffsets(Map.of(partition, spec(request.get("when").asLong()))).partitionResult(partition).get().offset();
    }

    private static OffsetSpec spec(long when) {
        if (when == -2) return OffsetSpec.earliest();
        if (when == -1) return OffsetSpec.latest();
        return OffsetSpec.forTimestamp(when);
    }

    Object all() throws Exception {
        Map<String, Integer> partitions = new HashMap<>();
        for (TopicDescription topic : admin.describeTopics(admin.listTopics().names().get()).allTopicNames().get().values()) {
            partitions.put(topic.name(), topic.partitions().size());
        }
        return partitions;
    }

    Object create(JsonNode request) throws Exception {
        Map<String, String> config = new HashMap<>();
        request.get("config").fields().forEachRemaining(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        NewTopic topic = new NewTopic(name(request), Optional.of(request.get("partitions").asInt()), Optional.empty());
        return admin.createTopics(List.of(topic.configs(config))).all().get();
    }

    Object describe(JsonNode request) throws Exception {
        TopicDescription topic = admin.describeTopics(List.of(name(request))).allTopicNames().get().get(name(request));
        return Map.of("partitions", topic.partitions().size(), "id", topic.topicId().toString());
    }

    Object delete(JsonNode request) throws Exception {
        return admin.deleteTopics(List.of(name(request))).all().get();
    }

    Object setConfig(JsonNode request) throws Exception {
        ConfigEntry entry = new ConfigEntry(request.get("name").asText(), request.get("value").asText());
        AlterConfigOp change = new AlterConfigOp(entry, AlterConfigOp.OpType.SET);
        return admin.incrementalAlterConfigs(Map.of(resource(request), List.of(change))).all().get();
    }

    Object config(JsonNode request) throws Exception {
        Map<String, String> values = new HashMap<>();
        for (ConfigEntry entry : admin.describeConfigs(List.of(resource(request))).all().get().get(resource(request)).entries()) {
            values.put(entry.name(), entry.value());
        }
        return values;
    }

    Object createPartitions(JsonNode request) throws Exception {
        NewPartitions total = NewPartitions.increaseTo(request.get("total").asInt());
        return admin.createPartitions(Map.of(name(request), total)).all().get();
    }

    Object deleteRecords(JsonNode request) throws Exception {
        RecordsToDelete before = RecordsToDelete.beforeOffset(request.get("before_offset").asLong());
        admin.deleteRecords(Map.of(partition(request), before)).all().get();
        return null;
    }

    private static String name(JsonNode request) {
        return request.get("topic").asText();
    }

    private static TopicPartition partition(JsonNode request) {
        return new TopicPartition(name(request), request.get("partition").asInt());
    }

    private static ConfigResource resource(JsonNode request) {
        return new ConfigResource(ConfigResource.Type.TOPIC, name(request));
    }
}
