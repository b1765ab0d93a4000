// Objects of a program that live as long as a graph does.
#include <algorithm>
#include <climits>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/graph.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

using Held = std::vector<HeldObject>;

HeldObject* find(Held& held, hipUserObject_t handle) {
  const auto found = std::find_if(held.begin(), held.end(), [&](const HeldObject& one) {
    return reinterpret_cast<hipUserObject_t>(one.object.get()) == handle;
  });
  return found == held.end() ? nullptr : &*found;
}

// Whoever holds it; null if nobody does.
HeldObject* find_anywhere(hipUserObject_t handle) {
  if (HeldObject* const own = find(graphs().objects, handle)) return own;
  for (Graph* const graph : known_graphs())
    if (HeldObject* const theirs = find(graph->objects, handle)) return theirs;
  return nullptr;
}

hipError_t retain(const char* call, Held& held, hipUserObject_t handle, unsigned count) {
  const HeldObject* const known = find_anywhere(handle);
  if (known == nullptr)
    return fault(hipErrorInvalidHandle, say(call, ": this is no object, or it was released"));
  if (count == 0 || count > INT_MAX) return keep(hipErrorInvalidValue);
  if (HeldObject* const own = find(held, handle)) return own->count += count, hipSuccess;
  return held.push_back({known->object, count}), hipSuccess;
}

hipError_t release(const char* call, Held& held, hipUserObject_t handle, unsigned count) {
  HeldObject* const own = find(held, handle);
  if (own == nullptr)
    return fault(hipErrorInvalidHandle, say(call, ": this is no object that is held"));
  if (count == 0 || count > own->count)
    return fault(hipErrorInvalidValue,
                 say(call, ": ", count, " references of ", own->count, " that are held"));
  own->count -= count;
  if (own->count != 0) return hipSuccess;
  const auto last = std::move(own->object);  // destroyed when nothing else is under way
  std::erase_if(held, [](const HeldObject& one) { return one.count == 0; });
  return hipSuccess;
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipUserObjectCreate(hipUserObject_t* object, void* pointer, hipHostFn_t destroy,
                               unsigned references, unsigned flags) {
  const rt::Turn turn;
  if (object == nullptr || destroy == nullptr || flags != hipUserObjectNoDestructorSync ||
      references == 0 || references > INT_MAX)
    return rt::keep(hipErrorInvalidValue);
  auto made = std::make_shared<rt::UserObject>(pointer, destroy);
  *object = reinterpret_cast<hipUserObject_t>(made.get());
  return rt::graphs().objects.push_back({std::move(made), references}), hipSuccess;
}
hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned count) {
  const rt::Turn turn;
  return rt::retain("hipUserObjectRetain", rt::graphs().objects, object, count);
}
hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count) {
  const rt::Turn turn;
  return rt::release("hipUserObjectRelease", rt::graphs().objects, object, count);
}
// With hipGraphUserObjectMove the graph takes references of the program.
hipError_t hipGraphRetainUserObject(hipGraph_t handle, hipUserObject_t object, unsigned count,
                                    unsigned flags) {
  const rt::Turn turn;
  constexpr const char* call = "hipGraphRetainUserObject";
  rt::Graph* const graph = rt::graph_of(call, handle);
  if (graph == nullptr) return rt::last_error();
  if (flags > hipGraphUserObjectMove) return rt::keep(hipErrorInvalidValue);
  const bool moves = flags == hipGraphUserObjectMove;
  const rt::HeldObject* const own = rt::find(rt::graphs().objects, object);
  if (moves && own != nullptr && count > own->count)
    return rt::fault(hipErrorInvalidValue,
                     mla::say(call, ": ", count, " references of ", own->count, " that are held"));
  if (const auto bad = rt::retain(call, graph->objects, object, count)) return bad;
  return moves ? rt::release(call, rt::graphs().objects, object, count) : hipSuccess;
}
hipError_t hipGraphReleaseUserObject(hipGraph_t handle, hipUserObject_t object, unsigned count) {
  const rt::Turn turn;
  rt::Graph* const graph = rt::graph_of("hipGraphReleaseUserObject", handle);
  if (graph == nullptr) return rt::last_error();
  return rt::release("hipGraphReleaseUserObject", graph->objects, object, count);
}

}  // extern "C"
