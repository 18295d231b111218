@0xb1d5c0a9e2f74d63;
# What the nodes of the lease example say to each other. The same names as in lease.hpp.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::lease::schema");

struct Offer {
  # Asks whether the receiver would take the lease.
  lease @0 :Text;   # its name
  epoch @1 :Int64;  # the number of the hand-off: a holder heeds no older one
}

struct Drain {
  # Asks the receiver to give the lease up.
  lease @0 :Text;   # its name
  epoch @1 :Int64;  # the number of the hand-off
}

struct Grant {
  # Gives the lease to the receiver.
  lease @0 :Text;   # its name
  epoch @1 :Int64;  # the number of the hand-off
}

struct Accepted {
  # It would take the lease.
}

struct Declined {
  # It would not.
}

struct Drained {
  # It no longer uses the lease.
}

struct Taken {
  # It has the lease, or had it since.
}
