// The claims about steps on a device, for decode: ordered streams, replayed graphs, no waiting,
// groups.
//
// Each runs the steps of a case (properties/step/engine/sequence.hpp) in two ways and compares the
// bits. An Outcome is the answer.
#pragma once

#include "properties/step/property.hpp"

namespace mla::prop {

Outcome decode_graph_replay(Subject& subject);  // P19
Outcome decode_stream_order(Subject& subject);  // P20
Outcome decode_no_sync(Subject& subject);       // P21
Outcome p30_group_isolation(Subject& subject);

}  // namespace mla::prop
