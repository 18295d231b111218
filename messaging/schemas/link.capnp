@0xf53c9e21b7d40a6b;
# Messages between two nodes while they link, and while the link stands. Messages between actors travel as
# envelopes (envelope.capnp).

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::schema");

struct LinkHello {
  # The first frame of who opens a link.
  version @0 :UInt32;      # of the link protocol; both sides must speak the same
  from @1 :Text;           # name of the node that opens, as "host:port"
  to @2 :Text;             # name of the node it means to reach
  nonce @3 :Data;          # 32 random bytes, new for every link
  authentication @4 :Authentication;  # how the sides prove who they are
  maxFrameBytes @5 :UInt32;           # the largest frame that this side takes

  enum Authentication {
    none @0;      # not at all; taken only by nodes that were told to
    keyFile @1;   # both sides prove that they know the cluster's key
  }
}

struct LinkChallenge {
  # The answer to a hello.
  version @0 :UInt32;        # of the link protocol
  nonce @1 :Data;            # 32 random bytes, new for every link
  maxFrameBytes @2 :UInt32;  # the largest frame that this side takes
}

struct LinkProof {
  # Shows that the sender knows the cluster's key: first who opened, then, as `welcome`, who accepted.
  proof @0 :Data;  # HMAC-SHA-256 over role, version, both names, both nonces and both limits; empty without a key
}

struct LinkClosing {
  # Why the sender closes the link; its last frame.
  reason @0 :Text;  # for people
}

struct LinkBeat {
  # A heartbeat, and unchanged the answer to one.
  sentAtMicros @0 :Int64;  # the asker's own clock
}
