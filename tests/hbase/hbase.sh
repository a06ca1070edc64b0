#!/bin/sh
# A real HBase on this machine, for tests: master, two region servers and ZooKeeper in one JVM.
#
#   hbase.sh start [DIR]    fetches the jars if need be, starts, waits until tables can be made, prints the URL
#   hbase.sh stop [DIR]     ends it; what was stored stays in DIR
#   hbase.sh kill [DIR]     ends it at once, when DIR is to be removed
#   hbase.sh url [DIR]      prints the URL of one that runs, or fails
#   hbase.sh jars           fetches the jars if need be, and prints their directory
#   hbase.sh phoenix        fetches the jars of Phoenix that HBase does not have, and prints their directory
#
# DIR is RUKH_HBASE_DIR, or .rukh/hbase of this repository, which git does not track. Jars lie in
# RUKH_HBASE_JARS, by default beside other build outputs that survive. The port of the URL is that of the
# master, chosen anew by each start unless RUKH_HBASE_PORT says one. Everything listens on 127.0.0.1.
# With RUKH_HBASE_TLS, a directory with server.pem (certificate and key) and ca.pem, it takes TLS, too, from
# clients with a certificate. With RUKH_HBASE_PHOENIX, a directory of jars, Phoenix runs in its servers.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
command=${1:-help}
dir=${2:-${RUKH_HBASE_DIR:-$root/.rukh/hbase}}
jars=${RUKH_HBASE_JARS:-${XDG_CACHE_HOME:-$HOME/.cache}/rukh/hbase-2.6.4}
wait_s_max=${RUKH_HBASE_WAIT_S:-180}

fail() {
    echo "hbase: $*" >&2
    exit 1
}

running() {
    [ -f "$dir/pid" ] && kill -0 "$(cat "$dir/pid")" 2>/dev/null
}

need_java() {
    command -v java >/dev/null 2>&1 ||
        fail "java is missing: install a JDK or JRE 17 (sudo apt-get install -y openjdk-17-jdk-headless)"
    java -version >/dev/null 2>&1 || fail "java does not start"
}

# need_jars POM DIR: copies the jars of a pom beside each other, once for each version of the pom. A copy that was
# cut short is not used. Those that HBase has are left out of another directory.
need_jars() {
    [ -f "$2/pom.xml" ] && cmp -s "$1" "$2/pom.xml" && return
    command -v mvn >/dev/null 2>&1 ||
        fail "mvn is missing, which fetches the jars: install Maven (sudo apt-get install -y maven)"
    echo "hbase: fetching the jars into $2, once" >&2
    rm -rf "$2.new" && mkdir -p "$2.new"
    mvn -B -q -f "$1" dependency:copy-dependencies \
        -DincludeScope=runtime "-DoutputDirectory=$2.new" >"$2.log" 2>&1 </dev/null ||
        fail "mvn cannot fetch the jars: see $2.log"
    [ "$2" = "$jars" ] || remove_known "$2.new"
    cp "$1" "$2.new/pom.xml"
    rm -rf "$2" && mv "$2.new" "$2"
}

# artifact FILE: the name of a jar without its version.
artifact() {
    basename "$1" | sed -E 's/-[0-9][0-9A-Za-z.]*(-[A-Za-z0-9.]+)*\.jar$//'
}

# remove_known DIR: removes jars of which HBase has some version.
remove_known() {
    known=$(for jar in "$jars"/*.jar; do artifact "$jar"; done)
    for jar in "$1"/*.jar; do
        if echo "$known" | grep -qx "$(artifact "$jar")"; then
            rm "$jar"
        fi
    done
}

need_hbase() {
    need_jars "$here/pom.xml" "$jars"
}

# free_ports N: prints N ports of 127.0.0.1 that nobody listens on at this moment.
free_ports() {
    python3 -c '
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for one in held: one.bind(("127.0.0.1", 0))
print(" ".join(str(one.getsockname()[1]) for one in held))' "$1"
}

property() {
    printf '  <property><name>%s</name><value>%s</value></property>\n' "$1" "$2"
}

# write_tls DIR: connections of the servers among themselves stay plain.
write_tls() {
    property hbase.server.netty.tls.enabled true
    property hbase.server.netty.tls.supportplaintext true
    property hbase.server.netty.tls.client.auth.mode NEED
    property hbase.rpc.tls.keystore.type PEM
    property hbase.rpc.tls.keystore.location "$1/server.pem"
    property hbase.rpc.tls.truststore.type PEM
    property hbase.rpc.tls.truststore.location "$1/ca.pem"
}

# write_site MASTER_PORT ZOOKEEPER_PORT
write_site() {
    {
        echo '<?xml version="1.0"?>'
        echo '<configuration>'
        property hbase.rootdir "file://$dir/root"
        property hbase.tmp.dir "$dir/tmp"
        property hbase.cluster.distributed false
        property hbase.unsafe.stream.capability.enforce false
        property hbase.wal.provider filesystem
        property hbase.zookeeper.quorum 127.0.0.1
        property hbase.zookeeper.property.clientPort "$2"
        property hbase.zookeeper.property.clientPortAddress 127.0.0.1
        property hbase.zookeeper.property.dataDir "$dir/zookeeper"
        # A machine that is busy or was asleep must not lose its servers.
        property zookeeper.session.timeout 600000
        property hbase.zookeeper.property.maxSessionTimeout 600000
        property hbase.localcluster.assign.random.ports false
        property hbase.localcluster.port.ephemeral true
        property hbase.master.port "$1"
        property hbase.regionserver.port 0
        property hbase.master.info.port -1
        property hbase.regionserver.info.port -1
        property hbase.master.hostname localhost
        property hbase.regionserver.hostname localhost
        property hbase.master.ipc.address 127.0.0.1
        property hbase.regionserver.ipc.address 127.0.0.1
        property hbase.regionserver.handler.count 10
        # Chunks of 2 MiB for each family of each region are too much for a small heap.
        property hbase.hregion.memstore.mslab.enabled false
        property hbase.hregion.memstore.flush.size 33554432
        property hbase.master.start.timeout.localHBaseCluster 120000
        # The master does not wait for more servers than the two there are.
        property hbase.master.wait.on.regionservers.mintostart 2
        property hbase.master.wait.on.regionservers.maxtostart 2
        property hbase.master.wait.on.regionservers.interval 100
        if [ -n "${RUKH_HBASE_PHOENIX:-}" ]; then
            property hbase.regionserver.wal.codec org.apache.hadoop.hbase.regionserver.wal.IndexedWALEditCodec
        fi
        if [ -n "${RUKH_HBASE_TLS:-}" ]; then
            write_tls "$RUKH_HBASE_TLS"
        fi
        echo '</configuration>'
    } >"$dir/conf/hbase-site.xml"
}

# The master's own lines at INFO are needed: one of them says that it is ready.
write_logging() {
    cat >"$dir/conf/log4j.properties" <<'END'
log4j.rootLogger=WARN, out
log4j.logger.org.apache.hadoop.hbase.master.HMaster=INFO
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.target=System.out
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p [%t] %c: %m%n
END
}

start_jvm() {
    opens=
    for package in java.nio sun.nio.ch java.lang jdk.internal.ref java.lang.reflect java.util java.util.concurrent java.io; do
        opens="$opens --add-opens java.base/$package=ALL-UNNAMED"
    done
    # shellcheck disable=SC2086  # lists of flags
    nohup java "-Xmx${RUKH_HBASE_HEAP:-512m}" -XX:+UseSerialGC ${RUKH_HBASE_JAVA:-} $opens \
        --add-exports java.base/jdk.internal.misc=ALL-UNNAMED \
        --add-exports java.security.jgss/sun.security.krb5=ALL-UNNAMED \
        --add-modules jdk.unsupported \
        -Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true \
        -Djava.net.preferIPv4Stack=true -Djava.awt.headless=true \
        -cp "$dir/conf:$jars/*${RUKH_HBASE_PHOENIX:+:$RUKH_HBASE_PHOENIX/*}" org.apache.hadoop.hbase.master.HMaster --localRegionServers=2 start \
        >"$dir/log" 2>&1 </dev/null 3>&- &
    echo $! >"$dir/pid"
}

# The master logs this line once when it has assigned hbase:meta and the namespaces.
wait_until_ready() {
    waited=0
    until grep -q 'Master has completed initialization' "$dir/log"; do
        running || fail "the JVM ended: see $dir/log"
        [ "$waited" -lt "$wait_s_max" ] || fail "not ready after $wait_s_max s: see $dir/log"
        sleep 1
        waited=$((waited + 1))
    done
}

start() {
    need_java
    need_hbase
    if running; then
        cat "$dir/url"
        return
    fi
    mkdir -p "$dir/conf"
    rm -f "$dir/url" "$dir/pid"
    ports=$(free_ports 2)
    master=${RUKH_HBASE_PORT:-${ports%% *}}
    write_site "$master" "${ports##* }"
    write_logging
    start_jvm
    if ! (wait_until_ready); then
        stop
        exit 1
    fi
    echo "hbase://127.0.0.1:$master/default" >"$dir/url"
    cat "$dir/url"
}

# Asks first, and after ten seconds does not ask again.
stop() {
    if ! running; then
        rm -f "$dir/pid" "$dir/url"
        return
    fi
    pid=$(cat "$dir/pid")
    kill "$pid" 2>/dev/null || true
    waited=0
    while kill -0 "$pid" 2>/dev/null && [ "$waited" -lt 100 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    end_now
}

end_now() {
    if running; then
        kill -9 "$(cat "$dir/pid")" 2>/dev/null || true
    fi
    rm -f "$dir/pid" "$dir/url"
}

case "$command" in
start) start ;;
stop) stop ;;
kill) end_now ;;
url) running && cat "$dir/url" ;;
jars) need_hbase && echo "$jars" ;;
phoenix)
    need_hbase
    need_jars "$here/peers/pom.xml" "$jars-phoenix-5.2.1"
    echo "$jars-phoenix-5.2.1"
    ;;
*) echo "usage: hbase.sh start|stop|kill|url [DIR], hbase.sh jars|phoenix" >&2 && exit 2 ;;
esac
