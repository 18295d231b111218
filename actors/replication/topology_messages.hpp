#pragma once
#include "actors/machines/message_binding.hpp"
#include "messaging/schemas/replication.capnp.h"
#include "state_machines/replication/topology.hpp"

// How the topology's messages travel between nodes.
TROUPE_MESSAGE(troupe::replication::HeartbeatRequest, troupe::schema::HeartbeatRequest)
TROUPE_MESSAGE(troupe::replication::HeartbeatReply, troupe::schema::HeartbeatReply)
TROUPE_MESSAGE(troupe::replication::VoteRequest, troupe::schema::VoteRequest)
TROUPE_MESSAGE(troupe::replication::VoteReply, troupe::schema::VoteReply)
TROUPE_MESSAGE(troupe::replication::StepUpRequest, troupe::schema::StepUpRequest)
