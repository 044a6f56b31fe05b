import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.data.Stat;

/**
 * A billing service that elects its leader with Curator's LeaderSelector, as its documentation shows. Arguments: its name, the
 * addresses of ZooKeeper and of the store, and `fence` if it is to show a fencing token.
 *
 * <p>Only the leader issues invoices. Its token is the transaction in which ZooKeeper made its node (czxid). The number at the end of
 * the node's name would not do: it counts from 0 again if the parent is deleted, as happens to an empty container.
 */
public class Billing extends LeaderSelectorListenerAdapter {
    private static final String PATH = "/billing/leader";

    private final HttpClient http = HttpClient.newHttpClient();
    private final String name;
    private final String store;
    private final boolean fence;

    private Billing(String name, String store, boolean fence) {
        this.name = name;
        this.store = store;
        this.fence = fence;
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework client =
            CuratorFrameworkFactory.newClient(args[1], 4_000, 4_000, new ExponentialBackoffRetry(100, 3));
        client.start();
        LeaderSelector selector = new LeaderSelector(client, PATH, new Billing(args[0], args[2], args.length > 3));
        selector.autoRequeue();
        selector.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            selector.close();
            client.close();
        }));
        Thread.currentThread().join();
    }

    /** Leads until this returns; the adapter has it interrupted when the connection is suspended or lost. */
    @Override
    public void takeLeadership(CuratorFramework client) throws Exception {
        long token = token(client);
        System.out.println(name + " leads with token " + token);
        try {
            while (issue(token)) {
                Thread.sleep(100);
            }
        } finally {
            System.out.println(name + " leads no more");
        }
    }

    /** Of the node that this session has in the queue: it has one, as long as {@link #takeLeadership} runs. */
    private static long token(CuratorFramework client) throws Exception {
        long session = client.getZookeeperClient().getZooKeeper().getSessionId();
        for (String node : client.getChildren().forPath(PATH)) {
            Stat stat = client.checkExists().forPath(PATH + "/" + node);
            if (stat != null && stat.getEphemeralOwner() == session) {
                return stat.getCzxid();
            }
        }
        throw new IllegalStateException("the session that led has ended");
    }

    private boolean issue(long token) throws Exception {
        URI uri = URI.create("http://" + store + "/invoices" + (fence ? "?token=" + token : ""));
        HttpRequest request = HttpRequest.newBuilder(uri).POST(BodyPublishers.noBody()).build();
        return http.send(request, BodyHandlers.discarding()).statusCode() == 200;
    }
}
