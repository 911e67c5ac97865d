import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Copies a topic into another, each record once: consume, produce and commit the offsets in one transaction.
 * Arguments: bootstrap, source, sink, group, transactional id. Runs until it is killed; every seventh transaction is
 * aborted on purpose.
 */
public final class Copier {
    public static void main(String[] arguments) {
        KafkaProducer<byte[], byte[]> producer = producer(arguments[0], arguments[4]);
        KafkaConsumer<byte[], byte[]> consumer = consumer(arguments[0], arguments[3]);
        try {
            producer.initTransactions();
            consumer.subscribe(List.of(arguments[1]));
            for (int count = 1; ; ) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
                if (!records.isEmpty()) {
                    copy(producer, consumer, records, arguments[2], count++ % 7 == 0);
                }
            }
        } catch (KafkaException error) {
            // Fenced, or in a state that only a new process can leave.
            System.err.println("again: " + error);
            Runtime.getRuntime().halt(1);
        }
    }

    private static void copy(KafkaProducer<byte[], byte[]> producer, KafkaConsumer<byte[], byte[]> consumer,
                             ConsumerRecords<byte[], byte[]> records, String sink, boolean aborts) {
        try {
            producer.beginTransaction();
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (ConsumerRecord<byte[], byte[]> record : records) {
                producer.send(new ProducerRecord<>(sink, record.partition(), record.key(), record.value()));
                offsets.put(new TopicPartition(record.topic(), record.partition()),
                            new OffsetAndMetadata(record.offset() + 1));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            if (aborts) {
                throw new KafkaException("on purpose");
            }
            commit(producer);
        } catch (org.apache.kafka.common.errors.ProducerFencedException error) {
            throw error;
        } catch (KafkaException error) {
            System.err.println("abort: " + error);
            producer.abortTransaction();
            rewind(consumer);
        }
    }

    /** A time-out leaves it open how the commit ended; asked again, it says. */
    private static void commit(KafkaProducer<byte[], byte[]> producer) {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException error) {
                System.err.println("abort: commit asked again: " + error);
            }
        }
    }

    private static void rewind(KafkaConsumer<byte[], byte[]> consumer) {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition partition : consumer.assignment()) {
            OffsetAndMetadata offset = committed.get(partition);
            consumer.seek(partition, offset == null ? 0 : offset.offset());
        }
    }

    private static KafkaProducer<byte[], byte[]> producer(String bootstrap, String transactionalId) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", transactionalId);
        settings.put("transaction.timeout.ms", "20000");
        settings.put("max.block.ms", "30000");
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static KafkaConsumer<byte[], byte[]> consumer(String bootstrap, String group) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", group);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        settings.put("session.timeout.ms", "6000");
        settings.put("max.poll.records", "20");
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }
}
