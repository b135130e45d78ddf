// What java programs do with the kernel: fails where something is refused.
import java.io.*;
import java.net.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.util.concurrent.*;
import java.util.stream.*;

public class Hello {
    static void check(boolean ok, String what) {
        if (!ok) throw new IllegalStateException(what);
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        Future<Integer> sum = pool.submit(() -> IntStream.range(0, 1000).parallel().sum());
        check(sum.get() == 499500, "threads");
        pool.shutdown();

        Process p = new ProcessBuilder("sh", "-c", "cat; exit 3").start();
        p.getOutputStream().write('x');
        p.getOutputStream().close();
        check(p.getInputStream().read() == 'x' && p.waitFor() == 3, "process");
        ProcessHandle.allProcesses().count();
        Process sleeper = new ProcessBuilder("sleep", "60").start();
        sleeper.destroy();
        sleeper.waitFor();

        Path dir = Files.createTempDirectory("java");
        Path f = dir.resolve("f");
        Files.writeString(f, "text");
        Files.copy(f, dir.resolve("g"), StandardCopyOption.COPY_ATTRIBUTES);
        Files.move(dir.resolve("g"), dir.resolve("h"), StandardCopyOption.ATOMIC_MOVE);
        Files.createSymbolicLink(dir.resolve("l"), f);
        try (FileChannel c = FileChannel.open(f, StandardOpenOption.READ, StandardOpenOption.WRITE); FileLock lock = c.lock()) {
            MappedByteBuffer b = c.map(FileChannel.MapMode.READ_WRITE, 0, 8192);
            b.put(0, (byte) 'T');
            b.force();
            c.force(true);
            c.truncate(4);
        }
        try (WatchService w = dir.getFileSystem().newWatchService()) {
            dir.register(w, StandardWatchEventKinds.ENTRY_CREATE);
            Files.createFile(dir.resolve("new"));
            check(w.poll(10, TimeUnit.SECONDS) != null, "watch");
        }
        try (Stream<Path> all = Files.walk(dir)) {
            check(all.count() == 5, "walk");
        }

        if (!"reduced".equals(System.getenv("SBX_TIER"))) { // it has no loopback
            try (ServerSocketChannel server = ServerSocketChannel.open(); Selector selector = Selector.open()) {
                server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                server.configureBlocking(false);
                server.register(selector, SelectionKey.OP_ACCEPT);
                try (SocketChannel client = SocketChannel.open(server.getLocalAddress())) {
                    check(selector.select(10000) == 1, "select");
                    try (SocketChannel peer = server.accept()) {
                        peer.write(ByteBuffer.wrap(new byte[] {42}));
                        ByteBuffer b = ByteBuffer.allocate(1);
                        client.read(b);
                        check(b.get(0) == 42, "socket");
                    }
                }
            }
            try (DatagramSocket u = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
                u.send(new DatagramPacket(new byte[1], 1, u.getLocalSocketAddress()));
                u.receive(new DatagramPacket(new byte[1], 1));
            }
            NetworkInterface.networkInterfaces().count();
        }
        new java.security.SecureRandom().nextInt();
        System.gc();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("all of it works")));
    }
}
