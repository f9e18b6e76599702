package jvm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"lakebed/peers/stores"
)

// Broker is a running broker.
type Broker struct {
	Address   string // as its store takes it
	processes []*process
}

// Processes are the ids of all processes of the broker.
func (b *Broker) Processes() (ids []int) {
	for _, p := range b.processes {
		ids = append(ids, p.command.Process.Pid)
	}
	return ids
}

// Stop ends the broker, the last process first. Its files stay.
func (b *Broker) Stop() {
	for i := len(b.processes) - 1; i >= 0; i-- {
		b.processes[i].stop()
	}
}

// Start starts a broker whose files lie below dir, which is fresh, and waits until it takes requests.
func Start(ctx context.Context, broker stores.Broker, dir string, synced bool) (*Broker, error) {
	jars, err := Fetch(ctx, broker)
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", dir, err)
	}
	start := startKafka
	if broker == stores.RocketMQ {
		start = startRocketMQ
	}
	b, err := start(ctx, filepath.Join(jars, "*"), dir, synced)
	if err != nil {
		b.Stop()
		return nil, fmt.Errorf("start %s in %s: %w", broker, dir, err)
	}
	return b, nil
}

func kafkaProperties(dir string, port int) string {
	return fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:%[3]d
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:%[2]d,CONTROLLER://127.0.0.1:%[3]d
advertised.listeners=PLAINTEXT://127.0.0.1:%[2]d,CONTROLLER://127.0.0.1:%[3]d
log.dirs=%[1]s/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.segment.delete.delay.ms=1000
`, dir, port, port+1)
}

// startKafka starts a node that is broker and controller. Durability is a setting of topics there.
func startKafka(ctx context.Context, jars, dir string, _ bool) (*Broker, error) {
	b := &Broker{}
	port, err := freePorts(2)
	if err != nil {
		return b, err
	}
	b.Address = fmt.Sprintf("127.0.0.1:%d", port)
	properties := filepath.Join(dir, "server.properties")
	if err := os.WriteFile(properties, []byte(kafkaProperties(dir, port)), 0o644); err != nil {
		return b, err
	}
	const cluster = "AAAAAAAAAAAAAAAAAAAAAQ" // any id of this form
	format := exec.CommandContext(ctx, "java", "-cp", jars, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", properties, "--standalone")
	if out, err := format.CombinedOutput(); err != nil {
		return b, fmt.Errorf("format its storage: %w\n%s", err, out)
	}
	p, err := startProcess(dir, "kafka", nil, "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
		"-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
		"-cp", jars, "kafka.Kafka", properties)
	if err != nil {
		return b, err
	}
	b.processes = append(b.processes, p)
	return b, p.await(ctx, func() bool { return listens(port) })
}

// unsyncedMillis is how often RocketMQ syncs where nothing is to be synced: not within a run.
const unsyncedMillis = 3_600_000

func rocketProperties(dir string, port int, synced bool) string {
	flush := fmt.Sprintf("flushDiskType=ASYNC_FLUSH\nflushIntervalCommitLog=%d\nflushCommitLogThoroughInterval=%[1]d\n", unsyncedMillis)
	if synced {
		flush = "flushDiskType=SYNC_FLUSH\n"
	}
	return flush + fmt.Sprintf(`brokerClusterName=peers
brokerName=peers
brokerId=0
brokerIP1=127.0.0.1
bindAddress=127.0.0.1
listenPort=%[2]d
haListenPort=%[3]d
storePathRootDir=%[1]s/store
storePathCommitLog=%[1]s/store/commitlog
diskMaxUsedSpaceRatio=95
osPageCacheBusyTimeOutMills=60000
waitTimeMillsInSendQueue=60000
`, dir, port, port+1)
}

// rocketOpens are the doors into Java's own packages that RocketMQ's launch scripts open.
var rocketOpens = []string{
	"--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED", "--add-opens=java.base/java.nio=ALL-UNNAMED",
	"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
}

// startRocketMQ starts a name server and a broker. Of five ports in a row the broker listens on the fourth, and by its own
// rule also two below that.
func startRocketMQ(ctx context.Context, jars, dir string, synced bool) (*Broker, error) {
	b := &Broker{}
	names, err := freePorts(5)
	if err != nil {
		return b, err
	}
	port := names + 3
	b.Address = fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", names, port)
	environment := []string{"ROCKETMQ_HOME=" + dir}
	for _, part := range []struct {
		name, class, properties string
		jvm, arguments          []string
	}{
		{"names", "org.apache.rocketmq.namesrv.NamesrvStartup", fmt.Sprintf("listenPort=%d\nbindAddress=127.0.0.1\n", names), []string{"-Xms256m", "-Xmx256m"}, nil},
		{"broker", "org.apache.rocketmq.broker.BrokerStartup", rocketProperties(dir, port, synced),
			[]string{"-Xms2g", "-Xmx2g", "-XX:+UseG1GC", "-XX:G1HeapRegionSize=16m", "-XX:G1ReservePercent=25", "-XX:InitiatingHeapOccupancyPercent=30",
				"-XX:SoftRefLRUPolicyMSPerMB=0"},
			[]string{"-n", fmt.Sprintf("127.0.0.1:%d", names)}},
	} {
		properties := filepath.Join(dir, part.name+".conf")
		if err := os.WriteFile(properties, []byte(part.properties), 0o644); err != nil {
			return b, err
		}
		arguments := append(append([]string{"-server", "-Duser.home=" + dir}, part.jvm...), rocketOpens...)
		arguments = append(append(arguments, "-cp", jars, part.class, "-c", properties), part.arguments...)
		p, err := startProcess(dir, part.name, environment, arguments...)
		if err != nil {
			return b, err
		}
		b.processes = append(b.processes, p)
		if err := p.await(ctx, func() bool { return p.said("boot success") }); err != nil {
			return b, err
		}
	}
	return b, nil
}
