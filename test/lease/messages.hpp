#pragma once
#include "actors/machines/message_binding.hpp"
#include "test/lease/lease.capnp.h"
#include "test/lease/lease.hpp"

// How the messages about leases travel between nodes.

TROUPE_MESSAGE(troupe::lease::Offer, troupe::lease::schema::Offer)
TROUPE_MESSAGE(troupe::lease::Drain, troupe::lease::schema::Drain)
TROUPE_MESSAGE(troupe::lease::Grant, troupe::lease::schema::Grant)
TROUPE_MESSAGE(troupe::lease::Accepted, troupe::lease::schema::Accepted)
TROUPE_MESSAGE(troupe::lease::Declined, troupe::lease::schema::Declined)
TROUPE_MESSAGE(troupe::lease::Drained, troupe::lease::schema::Drained)
TROUPE_MESSAGE(troupe::lease::Taken, troupe::lease::schema::Taken)
