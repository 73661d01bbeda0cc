// Starts Solr on a port with the home beside this file: java -cp 'libs/*' StartSolr.java PORT HOME
import java.nio.file.Path;
import org.apache.solr.embedded.JettyConfig;
import org.apache.solr.embedded.JettySolrRunner;

public class StartSolr {
    public static void main(String[] args) throws Exception {
        JettyConfig config = JettyConfig.builder().setPort(Integer.parseInt(args[0])).setContext("/solr").build();
        new JettySolrRunner(args[1], config).start();
        System.out.println("Solr is up");
    }
}
