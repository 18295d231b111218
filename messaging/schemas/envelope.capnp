@0xd3f4a1c58e2b7096;
# The one message that travels between nodes: sender, receiver, payload and deadline.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::schema");

struct Address {
  # The name of an actor. Names outlive the actor behind them: a restarted actor keeps its name.
  node @0 :Text;  # name of the node, as "host:port"
  path @1 :Text;  # path of the actor on its node, as "/storage/checkpointer"
}

struct Failure {
  # Why a request was not served.
  code @0 :Int32;    # number from the error table
  reason @1 :Text;   # what happened and what to do, for people
  extra @2 :Data;    # further reply fields as a BSON document; empty if there are none
}

struct Payload {
  # The payload. The receiver chooses its handler by the type. A frame of a link carries words and attachment beside
  # the envelope, so that they need no copy in between; here they are empty then.
  typeId @0 :UInt64;     # the Cap'n Proto identifier of the struct in `words`; 0 for none
  words @1 :Data;        # a Cap'n Proto message in flat form (segment table, then segments)
  attachment @2 :Data;   # a large block of bytes the message refers to, such as a batch of documents
}

struct Envelope {
  # A message on its way from one actor to another.
  to @0 :Address;               # the receiver
  from @1 :Address;             # the sender; replies and failures go there
  correlation @2 :UInt64;       # chosen by the asker, repeated by the reply; 0 if no reply is expected
  kind @3 :Kind;                # what is expected of the receiver
  deadline @4 :UInt64;          # microseconds left when the message was sent; 0 for no deadline
  trace @5 :UInt64;             # identifies the request this message belongs to, across nodes; 0 for none
  vectorTime @6 :Data;          # further logical times of the sender, as a BSON document; may be empty
  replMetadata @7 :Data;        # term and positions of the sender's replica set, as a BSON document; may be empty
  payload @8 :Payload;          # what is said; empty in a failure
  failure @9 :Failure;          # set if and only if the kind is `failure`
  urgent @10 :Bool;             # overtakes ordinary messages in the receiver's mailbox
  clusterTime @11 :UInt64;      # the newest cluster time that the sender's node knows, as a timestamp: seconds, then
                                # increment; 0 outside a replica set

  enum Kind {
    tell @0;      # no answer is expected
    ask @1;       # exactly one reply or failure is expected
    reply @2;     # the answer to an ask
    failure @3;   # an ask that was not served
    watch @4;     # the sender wants to know when the receiver ends
    unwatch @5;   # the sender no longer wants to know
    down @6;      # the sender, who was watched, has ended; `failure` says why
  }
}
