package io.hudioperator.query;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;

/**
 * Reads a plan of Spark SQL as JSON: for each node, in the order of the text, its depth, its class and its names.
 *
 * A node's parts are everything that its class was made of: children, inner children, the plans inside expressions and
 * what lists, options, maps and tuples of them hold. So no part is overlooked because a method leaves it out. Names of a
 * literal are its type, its value, and how a query spells a time; those of a resolved cast are its types, from and to.
 */
public final class PlanReader implements java.util.function.Function<Object, Object> {
    private static final int MOST_NODES = 200000;
    private static final int DEEPEST = 1000;

    private final List<List<Object>> nodes = new ArrayList<>();
    private final Map<Object, Object> seen = new IdentityHashMap<>();

    public Object apply(Object plan) {
        try {
            read((TreeNode<?>) plan, 0);
            return new ObjectMapper().writeValueAsString(nodes);
        } catch (com.fasterxml.jackson.core.JsonProcessingException error) {
            throw new IllegalStateException(error);
        } finally {
            nodes.clear();
            seen.clear();
        }
    }

    private void read(TreeNode<?> node, int depth) {
        if (depth > DEEPEST || nodes.size() >= MOST_NODES) {
            throw new IllegalStateException("PLAN_TOO_LARGE");
        }
        List<Object> names = new ArrayList<>();
        names.add(Integer.valueOf(depth));
        names.add(node.getClass().getName());
        nodes.add(names);
        seen.put(node, node);
        if (node instanceof View && ((View) node).isTempView()) {
            // What is below was made by whoever made the view.
            names.add(((View) node).desc().identifier().unquotedString());
            return;
        }
        if (node instanceof Literal) {
            Literal literal = (Literal) node;
            String type = literal.dataType().simpleString();
            names.add(type);
            names.add(String.valueOf(literal.value()));
            names.add(type.startsWith("date") || type.startsWith("timestamp") ? written(literal.origin()) : "");
        }
        if (node instanceof Cast && ((Cast) node).resolved()) {
            names.add(((Cast) node).child().dataType().simpleString());
            names.add(((Cast) node).dataType().simpleString());
        }
        Map<Object, Object> parts = new IdentityHashMap<>();
        List<TreeNode<?>> ordered = new ArrayList<>();
        collect(node.productIterator(), names, parts, ordered);
        collect(node.children().iterator(), new ArrayList<>(), parts, ordered);
        readAll(ordered, depth + 1);
        List<TreeNode<?>> inner = new ArrayList<>();
        collect(node.innerChildren().iterator(), new ArrayList<>(), seen, inner);
        readAll(inner, depth + 1);
    }

    /** The part of the query that a node was made of. */
    private static String written(Origin origin) {
        if (origin.sqlText().isEmpty() || origin.startIndex().isEmpty() || origin.stopIndex().isEmpty()) {
            return "";
        }
        String sql = origin.sqlText().get();
        int from = ((Integer) origin.startIndex().get()).intValue();
        int to = ((Integer) origin.stopIndex().get()).intValue() + 1;
        if (from < 0 || to < from || to > sql.codePointCount(0, sql.length())) {
            return "";
        }
        return sql.substring(sql.offsetByCodePoints(0, from), sql.offsetByCodePoints(0, to));
    }

    private void readAll(List<TreeNode<?>> parts, int depth) {
        for (TreeNode<?> part : parts) {
            read(part, depth);
        }
    }

    private static void collect(
        scala.collection.Iterator<?> values, List<Object> names, Map<Object, Object> parts, List<TreeNode<?>> ordered
    ) {
        while (values.hasNext()) {
            collect(values.next(), names, parts, ordered);
        }
    }

    private static void collect(
        Object value, List<Object> names, Map<Object, Object> parts, List<TreeNode<?>> ordered
    ) {
        if (value instanceof TreeNode) {
            if (parts.put(value, value) == null) {
                ordered.add((TreeNode<?>) value);
            }
        } else if (value instanceof String) {
            names.add(value);
        } else if (value instanceof Class) {
            names.add(((Class<?>) value).getName());
        } else if (value instanceof DataType) {
            return;
        } else if (value instanceof scala.collection.Iterable) {
            collect(((scala.collection.Iterable<?>) value).iterator(), names, parts, ordered);
        } else if (value instanceof scala.Product) {
            collect(((scala.Product) value).productIterator(), names, parts, ordered);
        } else if (value instanceof Map) {
            collect(((Map<?, ?>) value).keySet().toArray(), names, parts, ordered);
            collect(((Map<?, ?>) value).values().toArray(), names, parts, ordered);
        } else if (value instanceof java.util.Collection) {
            collect(((java.util.Collection<?>) value).toArray(), names, parts, ordered);
        } else if (value instanceof Object[]) {
            Object[] values = (Object[]) value;
            for (int index = 0; index < values.length; index++) {
                collect(values[index], names, parts, ordered);
            }
        }
    }
}
