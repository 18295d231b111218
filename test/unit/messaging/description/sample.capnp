@0xc6a1f8d9027be534;
# What sample.hpp describes, field by field; and schemas that do not fit.

using Cxx = import "/capnp/c++.capnp";
using import "/messaging/schemas/envelope.capnp".Failure;
$Cxx.namespace("troupe::schema::sample");

enum Colour {
  red @0;        # first
  green @1;      # second
  darkBlue @2;   # third
}

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
    drained @0 :Void;     # carries nothing
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
  value @1 :List(Colour);  # its colours
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
  maybeColour @12 :List(Colour);  # none or one
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

struct PointWithoutY {
  # Lacks a field and has another.
  x @0 :Int32;   # to the right
  z @1 :Int64;   # not described
}

struct NarrowPoint {
  # Types that do not carry what is described.
  x @0 :UInt32;  # without sign
  y @1 :Int32;   # too narrow
}

struct WidePoint {
  # A newer or more generous sender.
  x @0 :Int64;  # may not fit
  y @1 :Int64;  # fits
}

enum FewColours {
  red @0;      # known
  purple @1;   # unknown
}

struct Painted {
  # An enum of the schema.
  colour @0 :Colour;       # fits
}

struct BadlyPainted {
  # An enum of other names.
  colour @0 :FewColours;   # does not fit
}

struct OptionalPoint {
  # A number that cannot be absent.
  limit @0 :Int64;         # needs a list
}
