import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;

/**
 * Apache Kafka's own Java client behind one JSON request and one JSON answer a line, for the integration tests.
 * Ends when its input does. A broker's refusal is answered with its error code; anything else with its text.
 */
public final class Driver {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        PrintStream answers = new PrintStream(System.out, true, "UTF-8");
        Messages messages = new Messages(arguments[0]);
        try (Topics topics = new Topics(arguments[0])) {
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                answers.println(JSON.writeValueAsString(answer(messages, topics, JSON.readTree(line))));
            }
        }
    }

    private static Map<String, Object> answer(Messages messages, Topics topics, JsonNode request) {
        try {
            Object result = handle(messages, topics, request);
            return Map.of("ok", result == null ? true : result);
        } catch (ExecutionException error) {
            return refusal(error.getCause());
        } catch (Exception error) {
            return refusal(error);
        }
    }

    private static Map<String, Object> refusal(Throwable error) {
        if (error instanceof ApiException) {
            return Map.of("code", Errors.forException(error).code(), "error", error.toString());
        }
        return Map.of("error", error.toString());
    }

    private static Object handle(Messages messages, Topics topics, JsonNode request) throws Exception {
        switch (request.get("op").asText()) {
            case "produce": return messages.produce(request);
            case "consume": return messages.consume(request);
            case "offset_at": return topics.offsetAt(request);
            case "topics": return topics.all();
            case "create_topic": return topics.create(request);
            case "describe_topic": return topics.describe(request);
            case "delete_topic": return topics.delete(request);
            case "set_config": return topics.setConfig(request);
            case "config": return topics.config(request);
            case "create_partitions": return topics.createPartitions(request);
            case "delete_records": return topics.deleteRecords(request);
            default: throw new IllegalArgumentException("unknown op in " + request);
        }
    }
}
