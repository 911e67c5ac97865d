import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;

/**
 * Kafka Streams with all that it keeps on brokers: a copy of each record, and a count by a new key, for which it makes a
 * repartition topic and a store with a changelog. Each count goes out with its key, so that the outcome of a key must read
 * 1, 2, 3, ….
 * Arguments: bootstrap, application id, directory of the stores, source, topic of copies, topic of counts.
 */
public final class Tally {
    public static void main(String[] arguments) {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> source = builder.stream(arguments[3]);
        source.to(arguments[4]);
        source.groupBy((key, value) -> "tally-" + key, Grouped.with(Serdes.String(), Serdes.String()))
            .count(Materialized.as("tally"))
            .toStream()
            .map((key, count) -> KeyValue.pair(key, key + " " + count))
            .to(arguments[5]);
        KafkaStreams streams = new KafkaStreams(builder.build(), settings(arguments));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(20))));
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            // Kafka Streams promises to come through the death of a broker by itself.
            return StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.ERROR) {
                Runtime.getRuntime().halt(1);
            }
        });
        streams.start();
    }

    private static Properties settings(String[] arguments) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[2]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        // Every count is to be seen, not only the last of a commit.
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        return settings;
    }
}
