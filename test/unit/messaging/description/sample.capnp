@0xc6a1f8d9027be534;
# The described types of sample.hpp as schemas, written by hand: Cap'n Proto's own code reads and writes their messages.

using Cxx = import "/capnp/c++.capnp";
using import "/messaging/schemas/envelope.capnp".Failure;
$Cxx.namespace("troupe::schema::sample");

struct Drained {
  # Nothing but its arrival.
}

struct Point {
  # A place.
  x @0 :Int32;  # to the right
  y @1 :Int64;  # upwards
}

struct Refused {
  # A failure somewhere.
  why @0 :Failure;   # what went wrong
  where @1 :Point;   # null if nobody knows
}

struct Event {
  # One of three.
  union {
    drained @0 :Drained;  # carries nothing
    point @1 :Point;      # a place
    refused @2 :Refused;  # a failure
  }
}

struct Numbers {
  # Each width.
  truth @0 :Bool;       # a bool
  tiny @1 :Int8;        # 8 bits
  small @2 :UInt16;     # 16 bits
  normal @3 :Int32;     # 32 bits
  count @4 :UInt32;     # without sign
  large @5 :Int64;      # 64 bits
  huge @6 :UInt64;      # without sign
  real @7 :Float64;     # a double
  single @8 :Float32;   # a float
  patience @9 :Int64;   # milliseconds
}

struct NamedPoint {
  # An entry of a map.
  key @0 :Text;      # its name
  value @1 :Point;   # the place
}

struct Palette {
  # An entry of a map.
  key @0 :Text;            # its name
  value @1 :List(Text);    # its colours
}

struct Everything {
  # A field of each kind.
  id @0 :Data;                    # 16 bytes
  numbers @1 :Numbers;            # nested
  text @2 :Text;                  # any text
  bytes @3 :Data;                 # any bytes
  colour @4 :Text;                # an enum by name
  objectId @5 :Data;              # 12 bytes
  timestamp @6 :UInt64;           # seconds and increment
  date @7 :Int64;                 # milliseconds
  decimal @8 :Data;               # 16 bytes
  status @9 :Failure;             # code 0 for success
  document @10 :Data;             # BSON
  any @11 :Data;                  # BSON of one field
  maybeColour @12 :Text;          # may be null
  maybeNumber @13 :List(Int64);   # none or one
  maybeText @14 :Text;            # may be null
  maybePoint @15 :Point;          # may be null
  points @16 :List(Point);        # structs
  texts @17 :List(Text);          # pointers
  table @18 :List(List(Int32));   # lists of lists
  names @19 :List(Text);          # a set
  byName @20 :List(NamedPoint);   # a map
  palettes @21 :List(Palette);    # a map of lists
  event @22 :Event;               # a union
  events @23 :List(Event);        # many
}

struct Tree {
  # Contains itself.
  name @0 :Text;             # any text
  children @1 :List(Tree);   # below it
}

struct OlderPoint {
  # A point as a node sends it that knows no y.
  x @0 :Int32;  # to the right
}

struct NewerPoint {
  # A point as a newer node sends it.
  x @0 :Int32;      # to the right
  y @1 :Int64;      # upwards
  z @2 :Float64;    # into the distance
  name @3 :Text;    # of the place
}

struct Crowded {
  # A bool for each bit of a byte and more, between other numbers.
  a @0 :Bool;        # the first bit
  b @1 :Int16;       # beside it
  c @2 :Bool;        # the second bit
  d @3 :Int8;        # between them
  e @4 :Int64;       # a word of its own
  f @5 :Bool;        # the third bit
  g @6 :Int32;       # the rest of the first word
  h @7 :Int8;        # the first byte of a new one
  i @8 :List(Bool);  # none or one
  j @9 :List(Int8);  # bytes
}
