"""A RabbitMQ node for this run alone: own name, ports, directories and epmd, loopback only."""
import os
import pathlib
import shutil

import pika

from processes import Child, Failure, free_ports, port_is_open, wait_until

# The script behind Debian's wrapper: the wrapper insists on root and on the service's own home.
_SERVER_SCRIPT = pathlib.Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_QUEUE_ARGUMENTS = {}


class Broker:
    def __init__(self, directory, queue):
        self.queue = queue
        self._dir = pathlib.Path(directory)
        self._children = []
        if not _SERVER_SCRIPT.exists() or not shutil.which("epmd"):
            raise Failure("RabbitMQ is not installed: run script/bootstrap")
        self.port, self._dist_port, self._epmd_port = free_ports(3)

    def start(self):
        self._dir.mkdir(parents=True)
        env = self._environment()
        # Our own epmd, in the foreground: otherwise the node would start a daemon and leave it.
        epmd = Child("epmd", ["epmd", "-address", "127.0.0.1", "-port", str(self._epmd_port)],
                     self._dir / "epmd.log", env)
        self._children.append(epmd)
        wait_until(lambda: port_is_open(self._epmd_port), 10, "epmd listening")
        node = Child("rabbitmq", [str(_SERVER_SCRIPT)], self._dir / "rabbitmq.log", env)
        self._children.append(node)

        def ready():
            if node.exit_code() is not None:
                raise Failure(f"RabbitMQ did not start:\n{node.log_tail()}")
            return self._try_to_declare()

        wait_until(ready, 90, "RabbitMQ ready", interval_s=0.2)

    def stop(self):
        """The node first: it says good-bye to epmd."""
        for child in reversed(self._children):
            child.stop(timeout_s=20 if child.name == "rabbitmq" else 2)
        self._children.clear()

    def connect(self):
        return pika.BlockingConnection(pika.ConnectionParameters(
            "127.0.0.1", self.port, heartbeat=60, blocked_connection_timeout=60))

    def ready_messages(self):
        """Messages that no consumer holds."""
        connection = self.connect()
        try:
            return connection.channel().queue_declare(
                self.queue, passive=True).method.message_count
        finally:
            connection.close()

    def _try_to_declare(self):
        if not port_is_open(self.port):
            return False
        try:
            connection = self.connect()
        except pika.exceptions.AMQPError:
            return False
        connection.channel().queue_declare(self.queue, durable=True)
        connection.close()
        return True

    def _environment(self):
        empty = self._dir / "empty.conf"
        empty.touch()
        config = self._dir / "rabbitmq.conf"
        config.write_text("disk_free_limit.absolute = 50MB\n"
                          "log.console = true\nlog.console.level = warning\nlog.file = false\n")
        # Nothing of the caller's RabbitMQ set-up may leak in; RABBITMQ_* is set as a whole.
        env = {name: value for name, value in os.environ.items()
               if not name.startswith(("RABBITMQ_", "ERL_"))}
        env |= {
            "HOME": str(self._dir),  # for the Erlang cookie
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"claimd-demo-{os.getpid()}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._dist_port),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_CONF_ENV_FILE": str(empty),
            "RABBITMQ_CONFIG_FILE": str(config),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self._dir / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._dir / "enabled_plugins"),
            "RABBITMQ_MNESIA_BASE": str(self._dir / "data"),
            "RABBITMQ_LOG_BASE": str(self._dir / "log"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(self._dir / "config"),
            "RABBITMQ_SCHEMA_DIR": str(self._dir / "schema"),
            # Makes the script exec the node: the process that we started is the one we stop.
            "RUNNING_UNDER_SYSTEMD": "true",
        }
        return env
