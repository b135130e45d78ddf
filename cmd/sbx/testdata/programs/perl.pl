# What perl programs do with the kernel: fails where something is refused.
use strict; use warnings;
use Fcntl qw(:flock); use File::Copy; use File::Find; use File::Temp qw(tempdir); use IO::Socket::INET; use IO::Select; use POSIX; use Socket; use Time::HiRes;
my $d = tempdir(CLEANUP => 1);
open my $f, '>', "$d/f" or die $!; print $f "text\n" x 1000; flock $f, LOCK_EX or die $!; close $f or die $!;
copy("$d/f", "$d/g") or die $!; rename "$d/g", "$d/h" or die $!; symlink 'f', "$d/l" or die $!; chmod 0600, "$d/f" or die $!; utime 1, 1, "$d/f" or die $!;
truncate "$d/f", 10 or die $!; POSIX::mkfifo("$d/p", 0600) or die $!;
my $n = 0; find(sub { $n++ }, $d); $n == 5 or die $n;
`echo x` eq "x\n" or die; system('exit 3;') == 3 << 8 or die;
socketpair my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die $!;
my $pid = fork; if (!$pid) { syswrite $a, 'x'; POSIX::_exit(0) } sysread $b, my $x, 1 or die $!; waitpid $pid, 0; $? == 0 or die;
if (($ENV{SBX_TIER} // '') ne 'reduced') { # it has no loopback
my $l = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die $!;
my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $l->sockport) or die $!; IO::Select->new($l)->can_read(5) or die;
}
local $SIG{ALRM} = sub { }; Time::HiRes::alarm(0.01); POSIX::pause(); Time::HiRes::sleep(0.001); setpriority 0, 0, 19 or die $!;
print "all of it works\n";
