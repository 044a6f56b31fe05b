import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.retry.RetryForever;

/** Competes by Curator's LeaderLatch; arguments: the address, the path, and the session's timeout in milliseconds. */
public class Latch {
    public static void main(String[] args) throws Exception {
        int timeout = Integer.parseInt(args[2]);
        CuratorFramework client =
            CuratorFrameworkFactory.newClient(args[0], timeout, timeout, new RetryForever(100));
        client.start();
        LeaderLatch latch = new LeaderLatch(client, args[1]);
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
        // It ends with the process that has started it.
        System.in.read();
        System.exit(0);
    }
}
