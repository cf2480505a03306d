"""Opens connections as they are on a network (short segments), sends one request on each, and reads nothing."""
import resource, socket, sys, time
port, count, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
head = sys.stdin.read().encode()
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
kept = []
for _ in range(count):
    one = socket.socket()
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1000)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.bind((address, 0))
    one.connect(("127.0.0.1", port))
    one.sendall(head)
    kept.append(one)
print("sent", flush=True)
time.sleep(600)
