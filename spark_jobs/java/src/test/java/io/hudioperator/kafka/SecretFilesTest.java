package io.hudioperator.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.StreamTokenizer;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.apache.kafka.common.config.ConfigException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SecretFilesTest {

    @TempDir
    private Path folder;

    private String quoted(String content) throws IOException {
        Files.writeString(folder.resolve("password"), content);
        return new SecretFiles().get(folder.toString(), Set.of("password")).data().get("password");
    }

    @ParameterizedTest
    @ValueSource(strings = {"plain", "a\"; b", "back\\slash", "tab\tand\u0001", "\u00fc\u20ac", "${dir:/etc:passwd}", "a\nb", ""})
    void contentOfAFileIsReadByKafkaAsItIs(String content) throws IOException {
        StreamTokenizer tokens = new StreamTokenizer(new StringReader("password=\"" + quoted(content) + "\";"));
        tokens.slashSlashComments(true);
        tokens.slashStarComments(true);
        tokens.wordChars('_', '_');
        tokens.nextToken();
        tokens.nextToken();
        assertEquals('"', tokens.nextToken());
        assertEquals(content, tokens.sval);
        assertEquals(';', tokens.nextToken());
    }

    @Test
    void lineBreaksAtTheEndAreLeftOut() throws IOException {
        assertEquals("word", quoted("word\r\n\n"));
    }

    @Test
    void missingFileIsNamedWithoutItsFolder() {
        Set<String> keys = Set.of("username");
        ConfigException error =
            assertThrows(ConfigException.class, () -> new SecretFiles().get(folder.toString(), keys));
        assertTrue(error.getMessage().contains("username") && !error.getMessage().contains(folder.toString()));
    }

    @Test
    void wholeFolderIsNotRead() {
        assertThrows(ConfigException.class, () -> new SecretFiles().get(folder.toString()));
    }
}
