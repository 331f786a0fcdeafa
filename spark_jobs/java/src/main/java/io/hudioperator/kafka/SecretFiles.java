package io.hudioperator.kafka;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.provider.ConfigProvider;

/** Files of a mounted Secret as parts of a JAAS configuration, inside of double quotes, whatever is in them. */
public class SecretFiles implements ConfigProvider {

    public ConfigData get(String path) {
        throw new ConfigException("files are named one by one");
    }

    public ConfigData get(String path, Set<String> keys) {
        Map<String, String> found = new HashMap<>();
        for (String key : keys) {
            try {
                String text = new String(Files.readAllBytes(Paths.get(path, key)), StandardCharsets.UTF_8);
                found.put(key, quoted(text));
            } catch (java.io.IOException error) {
                throw new ConfigException("the file " + key + " of the Secret cannot be read");
            }
        }
        return new ConfigData(found);
    }

    /** As java.io.StreamTokenizer reads it, by which Kafka takes the configuration apart. */
    private static String quoted(String text) {
        int end = text.length();
        while (end > 0 && (text.charAt(end - 1) == '\n' || text.charAt(end - 1) == '\r')) {
            end--;
        }
        StringBuilder result = new StringBuilder();
        for (int i = 0; i < end; i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                result.append('\\').append(c);
            } else if (c < ' ') {
                result.append('\\').append((char) ('0' + (c >> 6))).append((char) ('0' + ((c >> 3) & 7)));
                result.append((char) ('0' + (c & 7)));
            } else {
                result.append(c);
            }
        }
        return result.toString();
    }

    public void configure(Map<String, ?> configs) {
    }

    public void close() {
    }
}
