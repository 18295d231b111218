@0xb8a6d2e01f937c45;
# Messages from operators, tests and supervisors to supervisors.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::schema");

struct ControlChild {
  # Asks a supervisor to act on one of its children. Answered with `ChildControlled`, or a failure: NoSuchKey for an
  # unknown child, IllegalOperation if the child's state does not allow the action.
  child @0 :Text;       # name of the child within the supervisor
  action @1 :Action;    # what to do
  reason @2 :Text;      # who asked and why; shown in the tree

  enum Action {
    restart @0;    # stop it in order and start it again; not counted against the restart intensity
    park @1;       # stop it and set it aside until it is resumed
    resume @2;     # start a parked child, with its failures forgotten
    stop @3;       # stop it and forget it
  }
}

struct ChildControlled {
  # The action was taken up; the tree shows when it has taken effect.
  child @0 :Text;   # name of the child
  state @1 :Text;   # its state now: starting, running, stopping, backing off, parked or stopped
}

struct SetTrace {
  # Asks any actor to log its messages, or to stop doing so. Answered with `TraceSet`.
  enabled @0 :Bool;  # whether messages are logged from now on
}

struct TraceSet {
  # Answer to SetTrace.
  enabled @0 :Bool;   # what holds now
}
