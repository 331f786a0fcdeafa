/*
 * Licensed to the Apache Software Foundation (ASF) under one
 * or more contributor license agreements.  See the NOTICE file
 * distributed with this work for additional information
 * regarding copyright ownership.  The ASF licenses this file
 * to you under the Apache License, Version 2.0 (the
 * "License"); you may not use this file except in compliance
 * with the License.  You may obtain a copy of the License at
 *
 *   http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing,
 * software distributed under the License is distributed on an
 * "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY
 * KIND, either express or implied.  See the License for the
 * specific language governing permissions and limitations
 * under the License.
 */

/*
 * The source of Hudi 1.2.0 (hudi-hadoop-common) with one change: OffsetAdjustingStream has the method `close`.
 *
 * InLineFsDataInputStream reads a block of a log file, such as one of the metadata table, as if it was a file. To close
 * it closes an OffsetAdjustingStream, and without that method the log file's stream stays open (apache/hudi#19936,
 * repaired after 1.2.0). On S3 that keeps one connection for each block that was looked into. No timeout and no garbage
 * collection gives it back, and in the end the pool of the process has none left.
 */

package org.apache.hudi.hadoop.fs.inline;

import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.PositionedReadable;
import org.apache.hadoop.fs.ReadOption;
import org.apache.hadoop.fs.Seekable;
import org.apache.hadoop.io.ByteBufferPool;

import java.io.FileDescriptor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.EnumSet;

/**
 * Inline {@link FSDataInputStream}. A startOffset that is passed in is assumed to be the start of the InputStream.
 * All operations are handled having the {@code startOffset} as starting point.
 *
 * <p>The inner wrapped stream is an {@link OffsetAdjustingStream} rather than the raw underlying
 * stream. This ensures that in Hadoop 3.3+, {@code FSDataInputStream.readVectored()} — which
 * delegates directly to the wrapped stream via {@code ((PositionedReadable) in).readVectored()} —
 * still applies the correct {@code startOffset} to every positional read, including vectored I/O
 * introduced in parquet-hadoop 1.16.0.
 */
public class InLineFsDataInputStream extends FSDataInputStream {

  private final long startOffset;
  private final FSDataInputStream outerStream;
  private final long length;

  public InLineFsDataInputStream(long startOffset, FSDataInputStream outerStream, long length) throws IOException {
    super(new OffsetAdjustingStream(outerStream, startOffset));
    this.startOffset = startOffset;
    this.outerStream = outerStream;
    this.length = length;
    outerStream.seek(startOffset);
  }

  @Override
  public void seek(long desired) throws IOException {
    if (desired > length) {
      throw new IOException("Attempting to seek past inline content");
    }
    outerStream.seek(startOffset + desired);
  }

  @Override
  public long getPos() throws IOException {
    return outerStream.getPos() - startOffset;
  }

  @Override
  public int read(long position, byte[] buffer, int offset, int length) throws IOException {
    if ((position + length) > this.length) {
      throw new IOException("Attempting to read past inline content");
    }
    return outerStream.read(startOffset + position, buffer, offset, length);
  }

  @Override
  public void readFully(long position, byte[] buffer, int offset, int length) throws IOException {
    if ((position + length) > this.length) {
      throw new IOException("Attempting to read past inline content");
    }
    outerStream.readFully(startOffset + position, buffer, offset, length);
  }

  @Override
  public void readFully(long position, byte[] buffer)
      throws IOException {
    readFully(position, buffer, 0, buffer.length);
  }

  @Override
  public boolean seekToNewSource(long targetPos) throws IOException {
    if (targetPos > this.length) {
      throw new IOException("Attempting to seek past inline content");
    }
    return outerStream.seekToNewSource(startOffset + targetPos);
  }

  @Override
  public int read(ByteBuffer buf) throws IOException {
    return outerStream.read(buf);
  }

  @Override
  public FileDescriptor getFileDescriptor() throws IOException {
    return outerStream.getFileDescriptor();
  }

  @Override
  public void setReadahead(Long readahead) throws IOException, UnsupportedOperationException {
    if (readahead > this.length) {
      throw new IOException("Attempting to set read ahead past inline content");
    }
    outerStream.setReadahead(readahead);
  }

  @Override
  public void setDropBehind(Boolean dropBehind) throws IOException, UnsupportedOperationException {
    outerStream.setDropBehind(dropBehind);
  }

  @Override
  public ByteBuffer read(ByteBufferPool bufferPool, int maxLength, EnumSet<ReadOption> opts)
      throws IOException, UnsupportedOperationException {
    if (maxLength > this.length) {
      throw new IOException("Attempting to read max length beyond inline content");
    }
    return outerStream.read(bufferPool, maxLength, opts);
  }

  @Override
  public void releaseBuffer(ByteBuffer buffer) {
    outerStream.releaseBuffer(buffer);
  }

  @Override
  public void unbuffer() {
    outerStream.unbuffer();
  }

  /**
   * Wraps an {@link FSDataInputStream} and adjusts all positional reads by {@code startOffset}.
   * Sequential reads delegate to the outer stream at its current position.
   *
   * <p>In Hadoop 3.3+, {@link PositionedReadable} gained a default {@code readVectored()} method
   * that calls {@code VectoredReadUtils.readVectored(this, ...)} which ultimately invokes
   * {@code this.readFully(range.getOffset(), ...)}. Because this class correctly shifts those
   * offsets by {@code startOffset}, vectored reads land at the right place in the outer file.
   */
  private static final class OffsetAdjustingStream extends InputStream
      implements Seekable, PositionedReadable {

    private final FSDataInputStream outer;
    private final long startOffset;

    OffsetAdjustingStream(FSDataInputStream outer, long startOffset) {
      this.outer = outer;
      this.startOffset = startOffset;
    }

    // InputStream sequential reads — delegate to outer stream's current position
    @Override
    public int read() throws IOException {
      return outer.read();
    }

    @Override
    public int read(byte[] b, int off, int len) throws IOException {
      return outer.read(b, off, len);
    }

    @Override
    public void close() throws IOException {
      outer.close();
    }

    // Seekable
    @Override
    public long getPos() throws IOException {
      return outer.getPos() - startOffset;
    }

    @Override
    public void seek(long pos) throws IOException {
      outer.seek(startOffset + pos);
    }

    @Override
    public boolean seekToNewSource(long targetPos) throws IOException {
      return outer.seekToNewSource(startOffset + targetPos);
    }

    // PositionedReadable — all positions are relative to the inline file start
    @Override
    public int read(long position, byte[] buffer, int offset, int length) throws IOException {
      return outer.read(startOffset + position, buffer, offset, length);
    }

    @Override
    public void readFully(long position, byte[] buffer, int offset, int length) throws IOException {
      outer.readFully(startOffset + position, buffer, offset, length);
    }

    @Override
    public void readFully(long position, byte[] buffer) throws IOException {
      outer.readFully(startOffset + position, buffer, 0, buffer.length);
    }
  }
}
