package io.hudioperator.kafka;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;

/** Messages as rows with their time as the number that it is: Spark's own rows have no place for every number. */
public class MessageRows implements Function<Object, Row> {

    public Row call(Object message) {
        ConsumerRecord<?, ?> record = (ConsumerRecord<?, ?>) message;
        Header[] headers = record.headers().toArray();
        Row[] pairs = headers.length == 0 ? null : new Row[headers.length];
        for (int i = 0; i < headers.length; i++) {
            pairs[i] = RowFactory.create(new Object[] {headers[i].key(), headers[i].value()});
        }
        return RowFactory.create(new Object[] {
            record.key(),
            record.value(),
            record.topic(),
            Integer.valueOf(record.partition()),
            Long.valueOf(record.offset()),
            Long.valueOf(record.timestamp()),
            Integer.valueOf(record.timestampType().id),
            pairs
        });
    }

    /** Ranges of offsets from lines of topic, partition, first offset and the one behind the last. */
    public List<KafkaOffsetRange> ranges(String lines) {
        List<KafkaOffsetRange> found = new ArrayList<>();
        for (String line : lines.split("\n")) {
            String[] parts = line.split(" ");
            TopicPartition place = new TopicPartition(parts[0], Integer.parseInt(parts[1]));
            found.add(new KafkaOffsetRange(
                place, Long.parseLong(parts[2]), Long.parseLong(parts[3]), scala.Option.apply(null)));
        }
        return found;
    }
}
