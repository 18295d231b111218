@0xb7d40f6a3c51e982;
# What is said about a lease. The epoch is the number of a move: each has a higher one than those before.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("named_lease::schema");
struct Move { id @0 :Text; to @1 :Text; }        # asks the coordinator to give the lease to that node
struct Revoke { id @0 :Text; epoch @1 :Int64; }  # tells the holder to stop using the lease
struct Grant { id @0 :Text; epoch @1 :Int64; }   # tells the next holder to use the lease from now on
struct Done {}                                   # the answer to each; to Move: it has begun, or was there already
