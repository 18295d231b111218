@0xe19c04d7ab5f2863;
# Small messages that prove the kernel itself; also used by the benchmark of an ask.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::schema");

struct Ping {
  # Asks for a Pong with the same number.
  number @0 :Int64;  # chosen by the asker, repeated in the answer
}

struct Pong {
  # The answer to a Ping.
  number @0 :Int64;  # chosen by the asker, repeated in the answer
}

struct Block {
  # Some bytes, sent back unchanged; used by the benchmark of a link.
  bytes @0 :Data;  # any
}
