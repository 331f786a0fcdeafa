package io.hudioperator.query;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser;
import org.junit.jupiter.api.Test;

class PlanReaderTest {

    private static List<String> nodes(Object plan) throws JsonProcessingException {
        List<String> found = new ArrayList<>();
        for (JsonNode node : new ObjectMapper().readTree((String) new PlanReader().apply(plan))) {
            StringBuilder text = new StringBuilder(node.get(0).asText());
            for (int place = 1; place < node.size(); place++) {
                text.append(' ').append(node.get(place).asText().replaceFirst(".*\\.", ""));
            }
            found.add(text.toString());
        }
        return found;
    }

    @Test
    void expressionIsReadAsItsNodesWithDepthsClassesAndNames() throws JsonProcessingException {
        assertEquals(
            List.of("0 GreaterThan", "1 UnresolvedFunction upper", "2 UnresolvedAttribute a", "1 Literal string x "),
            nodes(new CatalystSqlParser().parseExpression("upper(a) > 'x'")));
    }

    @Test
    void timeIsReadAsTheQueryWritesIt() throws JsonProcessingException {
        List<String> found = nodes(new CatalystSqlParser().parseExpression("a = DATE '2026-03-01'"));
        assertEquals("1 Literal date 20513 DATE '2026-03-01'", found.get(2));
    }

    @Test
    void planInsideOfAnExpressionIsRead() throws JsonProcessingException {
        List<String> found = nodes(new CatalystSqlParser().parsePlan("SELECT (SELECT max(b) FROM t)"));
        assertTrue(found.stream().anyMatch(node -> node.contains("UnresolvedRelation t")), found::toString);
    }

    @Test
    void planThatIsTooDeepIsRefusedAndTheReaderGoesOn() {
        Expression deep = Literal.create(true, org.apache.spark.sql.types.DataTypes.BooleanType);
        for (int level = 0; level <= 1000; level++) {
            deep = new Not(deep);
        }
        PlanReader reader = new PlanReader();
        Expression tooDeep = deep;
        IllegalStateException error = assertThrows(IllegalStateException.class, () -> reader.apply(tooDeep));
        assertEquals("PLAN_TOO_LARGE", error.getMessage());
        Expression small = new CatalystSqlParser().parseExpression("1");
        assertEquals(new PlanReader().apply(small), reader.apply(small));
    }
}
