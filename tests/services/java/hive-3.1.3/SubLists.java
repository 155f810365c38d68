package org.apache.hadoop.hive.ql.exec;

import java.util.ArrayList;
import java.util.List;
import org.apache.hive.com.esotericsoftware.kryo.Kryo;
import org.apache.hive.com.esotericsoftware.kryo.Serializer;
import org.apache.hive.com.esotericsoftware.kryo.io.Input;
import org.apache.hive.com.esotericsoftware.kryo.io.Output;

/**
 * In the place of Hive's class of this name, which every MapReduce job needs and which fails on Java 9 and later: it reads a
 * field of java.util that only Java 8 has. A part of a list is written as a whole list.
 */
class SerializationUtilities$ArrayListSubListSerializer extends Serializer<List<?>> {
    @Override
    public void write(Kryo kryo, Output output, List<?> list) {
        kryo.writeObject(output, new ArrayList<>(list));
    }

    @Override
    public List<?> read(Kryo kryo, Input input, Class<List<?>> type) {
        return kryo.readObject(input, ArrayList.class);
    }
}
