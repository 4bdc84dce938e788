# Tahoe of ns-2.35 over the hop of document 002: ns tahoe.tcl SEED GOOD_S BAD_S
#
# 20 000 packets of 1000 bytes over 1 Mb/s and 50 ms from the first bit of a packet, with the defaults of 2001 (profile
# ns2-2001). Both directions are in the bad state at once, with states of fixed length and a random phase. Prints the
# seconds until all is acknowledged (in steps of 0.05 s), packets sent, retransmitted, and retransmission timeouts.
lassign $argv seed good bad
ns-random $seed
foreach {name value} {
    tcpTick_ 0.1 minrto_ 0 rtxcur_init_ 6.0 maxrto_ 64 window_ 20 windowInit_ 1
    singledup_ 0 rfc2988_ false packetSize_ 1000 useHeaders_ true
} { Agent/TCP set $name $value }

set ns [new Simulator]
set a [$ns node]
set b [$ns node]
# 50 ms less the time of the packet's own bits: 1040 bytes of data, 40 bytes of an acknowledgement.
$ns simplex-link $a $b 1Mb 41.68ms DropTail
$ns simplex-link $b $a 1Mb 49.68ms DropTail
foreach {from to} [list $a $b $b $a] {
    $ns queue-limit $from $to 10000
    set errors [new ErrorModel]
    $errors unit pkt
    $errors ranvar [new RandomVariable/Uniform]
    $errors drop-target [new Agent/Null]
    $ns link-lossmodel $errors $from $to
    lappend models $errors
}

proc enter {state} {
    global models
    foreach errors $models { $errors set rate_ [expr {$state eq "bad" ? 0.8 : 0.0005}] }
}
proc cycle {} {
    global ns good bad
    enter good
    $ns at [expr [$ns now] + $good] "enter bad"
    $ns at [expr [$ns now] + $good + $bad] cycle
}
set phase [new RNG]
$phase seed $seed
enter good
set first [$phase uniform 0 $good]
$ns at $first "enter bad"
$ns at [expr $first + $bad] cycle

set tcp [new Agent/TCP]
set sink [new Agent/TCPSink]
$ns attach-agent $a $tcp
$ns attach-agent $b $sink
$ns connect $tcp $sink
set file [new Application/FTP]
$file attach-agent $tcp
proc watch {} {
    global ns tcp
    if {[$tcp set ack_] >= 19999} {
        puts "[$ns now] [$tcp set ndatapack_] [$tcp set nrexmitpack_] [$tcp set nrexmit_]"
        exit 0
    }
    $ns at [expr [$ns now] + 0.05] watch
}
$ns at 0 "$file produce 20000"
$ns at 0.1 watch
$ns run
