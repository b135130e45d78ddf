"""What python programs do with the kernel: fails where something is refused."""
import asyncio, fcntl, hashlib, mmap, multiprocessing, os, random, resource, select, shutil, signal, socket, sqlite3
import struct, subprocess, sys, tempfile, termios, threading, time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import shared_memory

# It has no /dev/shm, no loopback and no pseudo terminals.
reduced = os.environ.get("SBX_TIER") == "reduced"


def square(n):
    return n * n


def threads():
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(square, range(50)))[7] == 49
    done = threading.Event()
    threading.Timer(0.01, done.set).start()
    assert done.wait(5)


def processes():
    assert subprocess.run(["sh", "-c", "cat; exit 3"], input=b"x", capture_output=True).returncode == 3
    p = subprocess.Popen(["sleep", "60"], start_new_session=True)
    p.terminate()
    assert p.wait() == -signal.SIGTERM
    if reduced:
        return
    with ProcessPoolExecutor(2) as pool:
        assert list(pool.map(square, [3, 4])) == [9, 16]
    for method in "fork", "spawn", "forkserver":
        context = multiprocessing.get_context(method)
        q = context.Queue()
        child = context.Process(target=q.put, args=("hello",))
        child.start()
        assert q.get(timeout=30) == "hello"
        child.join()
        assert child.exitcode == 0
    block = shared_memory.SharedMemory(create=True, size=4096)
    block.close()
    block.unlink()
    if hasattr(os, "pidfd_open"):
        os.close(os.pidfd_open(os.getpid()))


async def asynchronous():
    async def answer(reader, writer):
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    if not reduced:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"line\n")
        assert await reader.readline() == b"line\n"
        writer.close()
        server.close()
    proc = await asyncio.create_subprocess_exec("echo", "x", stdout=subprocess.PIPE)
    assert (await proc.communicate())[0] == b"x\n"
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: None)
    await asyncio.to_thread(time.sleep, 0.01)


def sockets():
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET:
        a, b = socket.socketpair(socket.AF_UNIX, kind)
        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", 1))])
        assert b.recvmsg(10, 100)[0] == b"x"
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind(("127.0.0.1", 0))
    u.sendto(b"y", u.getsockname())
    assert u.recvfrom(10)[0] == b"y"
    assert socket.if_nameindex()
    try:
        socket.getaddrinfo("name.invalid", 80)
    except socket.gaierror:
        pass


def files(d):
    db = sqlite3.connect(d + "/db")
    db.execute("pragma journal_mode=wal")
    db.execute("create table t(x)")
    db.executemany("insert into t values(?)", [(i,) for i in range(100)])
    db.commit()
    assert db.execute("select sum(x) from t").fetchone() == (4950,)
    db.close()
    with open(d + "/f", "w+b") as f:
        f.write(b"z" * 10000)
        f.flush()
        os.fsync(f.fileno())
        os.posix_fallocate(f.fileno(), 0, 20000)
        os.truncate(f.fileno(), 10000)
        fcntl.flock(f, fcntl.LOCK_EX)
        fcntl.lockf(f, fcntl.LOCK_UN)
        m = mmap.mmap(f.fileno(), 0)
        m[0] = 65
        m.flush()
        m.close()
    shutil.copy2(d + "/f", d + "/g")
    os.link(d + "/f", d + "/h")
    os.symlink("f", d + "/l")
    os.rename(d + "/g", d + "/G")
    os.chmod(d + "/f", 0o600)
    os.utime(d + "/f", (1, 1))
    os.mkfifo(d + "/fifo")
    try:
        os.setxattr(d + "/f", "user.a", b"b")
    except OSError as e:
        assert e.errno != 1, e
    assert [e.name for e in os.scandir(d)]
    os.statvfs(d)
    shutil.rmtree(d)


def rest():
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.sigwait([signal.SIGALRM]) if signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]) is not None else None
    ep, p = select.epoll(), select.poll()
    r, w = os.pipe()
    ep.register(r)
    p.register(r)
    assert ep.poll(0) == [] and p.poll(0) == [] and select.select([r], [], [], 0)[0] == []
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.prlimit(0, resource.RLIMIT_NOFILE)
    os.nice(1)
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    os.sched_yield()
    os.getloadavg(), os.times(), os.uname(), os.getgroups(), os.urandom(8), random.random(), time.sleep(0.001)
    os.close(os.memfd_create("x"))
    if not reduced:
        pid, master = os.forkpty()
        if pid == 0:
            os._exit(0 if os.isatty(0) else 1)
        assert os.waitpid(pid, 0)[1] == 0
    hashlib.scrypt(b"a", salt=b"b", n=2, r=8, p=1)


if __name__ == "__main__":
    threads()
    processes()
    asyncio.run(asynchronous())
    if not reduced:
        sockets()
    files(tempfile.mkdtemp())
    rest()
    print("all of it works")
