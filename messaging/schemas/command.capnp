@0xc1d40b6e93a75f28;
# Commands and cursors between nodes. Documents travel as BSON in attachments.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::schema");

struct RunCommand {
  # Asks a node to run a command as if a client had sent it. Answered with `CommandReply`, or with the failure of the
  # command. The envelope's deadline is the command's. The attachment is the command's document.
  id @0 :UInt64;            # names the command in `KillCommand`; its sender uses each number once
  database @1 :Text;        # what the command is run on
  identity @2 :Identity;    # with whose rights
  user @3 :Text;            # of `user`: the name
  userDatabase @4 :Text;    # of `user`: the database that the user belongs to
  batchBytes @5 :UInt32;    # not 0: a cursor is wanted, with batches of about so many bytes; `CursorOpened` answers

  enum Identity {
    cluster @0;   # the nodes' own: may do everything; only for nodes that have proven the cluster's key
    user @1;      # of a user, with what its roles allow on the executing node; the same condition
    nobody @2;    # of nobody, as a client that has not logged in
  }
}

struct CommandReply {
  # Answer of a command. The attachment is bytes that it gives besides, then its reply as a document.
  documentBytes @0 :UInt32;  # size of the reply
}

struct CursorOpened {
  # The first batch of a cursor: the attachment is documents, then the command's reply.
  documentBytes @0 :UInt32;  # size of the reply
  path @1 :Text;             # the actor to ask for `NextBatch`; empty: there is no more
}

struct NextBatch {
  # Grants a cursor credit for one more batch, and asks for it. Answered with `CommandReply`, whose attachment begins
  # with the documents, as soon as there are some; a cursor without such questions waits. An `id` of 0 in the reply's
  # `cursor` says that the batch is the last.
  bytes @0 :UInt32;  # what the batch may hold; a single document may be larger
}

struct KillCommand {
  # Ends a command that runs, or closes a cursor, of the same sender. Always answered with `CommandKilled`.
  id @0 :UInt64;  # of its `RunCommand`
}

struct CommandKilled {
  # Outcome of a `KillCommand`.
  found @0 :Bool;  # it had not ended yet
}
