import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.retry.RetryForever;

/** Competes by a recipe of Curator's; arguments: latch or selector, the address, the path, and the session's timeout in milliseconds. */
public class Curator {
    public static void main(String[] args) throws Exception {
        int timeout = Integer.parseInt(args[3]);
        CuratorFramework client =
            CuratorFrameworkFactory.newClient(args[1], timeout, timeout, new RetryForever(100));
        client.start();
        if (args[0].equals("latch")) {
            LeaderLatch latch = new LeaderLatch(client, args[2]);
            latch.addListener(new LeaderLatchListener() {
                @Override
                public void isLeader() {
                    System.out.println("leads");
                }

                @Override
                public void notLeader() {
                }
            });
            latch.start();
        } else {
            LeaderSelector selector = new LeaderSelector(client, args[2], new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework client) throws Exception {
                    System.out.println("leads");
                    // Returning, or being interrupted when the connection is lost, is giving it up.
                    Thread.sleep(Long.MAX_VALUE);
                }
            });
            selector.autoRequeue();
            selector.start();
        }
        // It ends with the process that has started it.
        System.in.read();
        System.exit(0);
    }
}
