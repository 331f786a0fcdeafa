package io.hudioperator.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.Serializable;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JsonInferSchema;
import org.apache.spark.sql.types.*;
import scala.Option;
import scala.runtime.AbstractFunction2;

/**
 * Infers columns of JSON texts as Spark does, but leaves what has no value without a type: Spark makes a text of it, or
 * leaves it out together with what holds empty texts only.
 */
public class JsonColumns extends JsonInferSchema {

    private final boolean takesEmptyTexts;

    /** Opens the text of a row, its only column. */
    public static class Texts extends AbstractFunction2<JsonFactory, InternalRow, JsonParser> implements Serializable {
        public JsonParser apply(JsonFactory factory, InternalRow row) {
            byte[] text = row.getBinary(0);
            try {
                return factory.createParser(text, 0, text.length);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** `takesEmptyTexts` says that an empty text is one, and not a value of whichever type the others have. */
    public JsonColumns(JSONOptions options, boolean takesEmptyTexts) {
        super(options);
        this.takesEmptyTexts = takesEmptyTexts;
    }

    /** The columns of the texts, as JSON. */
    public String of(RDD<InternalRow> texts) {
        return infer(texts, new Texts()).json();
    }

    public DataType inferField(JsonParser parser) {
        DataType found = super.inferField(parser);
        boolean isEmpty = found instanceof NullType && parser.currentToken() == JsonToken.VALUE_STRING;
        return isEmpty && takesEmptyTexts ? DataTypes.StringType : found;
    }

    public Option<DataType> canonicalizeType(DataType type, JSONOptions options) {
        return Option.apply(type);
    }
}
