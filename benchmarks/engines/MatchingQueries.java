import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.flink.table.functions.TableFunction;

/** The numbers of the standing queries of W5 that a packet matches; a line of the file is one query. */
public class MatchingQueries extends TableFunction<Integer> {
  private transient int[] low, high, first, last;
  private transient String[] protocol;

  public void eval(String file, Integer bytes, Integer dst, String proto) throws IOException {
    if (low == null) {
      read(Path.of(file));
    }
    int size = bytes;
    int destination = dst;
    for (int query = 0; query < low.length; query++) {
      if (size >= low[query] && size < high[query]
          && destination >= first[query] && destination < last[query]
          && (protocol[query].isEmpty() || protocol[query].equals(proto))) {
        collect(query);
      }
    }
  }

  private void read(Path file) throws IOException {
    List<String> lines = Files.readAllLines(file);
    int count = lines.size();
    int[][] bounds = new int[4][count];
    protocol = new String[count];
    for (int query = 0; query < count; query++) {
      String[] fields = lines.get(query).split(",", -1);
      for (int bound = 0; bound < 4; bound++) {
        bounds[bound][query] = Integer.parseInt(fields[bound]);
      }
      protocol[query] = fields[4];
    }
    high = bounds[1];
    first = bounds[2];
    last = bounds[3];
    low = bounds[0];
  }
}
