#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/gfx_emulator/load.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/run/run_words.hpp"
#include "hip_backend/kernels/code_objects.hpp"

namespace mla::hip {
namespace {

class EmulatedDevice final : public Device {
 public:
  EmulatedDevice(Arch arch, const EmulatedOptions& options) : arch_(arch), options_(options) {
    properties_.label = say("emulated:", name(arch));
    properties_.model = "instruction set emulator";
    properties_.arch = name(arch);
    properties_.driver = "none";
    properties_.compute_units = product_compute_units(arch).count();
    properties_.memory_bytes = std::int64_t{1} << 30;
    properties_.lds_bytes = arch == Arch::gfx942 ? 65536 : 163840;
    properties_.guards_memory = true;
    properties_.draws_timing = true;
  }
  [[nodiscard]] const DeviceProperties& properties() const override { return properties_; }

  Result<Address> allocate(std::int64_t bytes) override {
    return address_of(memory_.allocate(static_cast<std::size_t>(bytes), "device memory"));
  }
  Result<Address> allocate_filled(std::int64_t bytes, std::uint32_t word) override {
    return address_of(memory_.allocate(static_cast<std::size_t>(bytes), "device memory", word));
  }
  void release(Address address) override {
    static_cast<void>(memory_.release(std::bit_cast<void*>(address)));
  }
  MaybeError copy_in(Address to, std::span<const std::byte> from) override {
    const MaybeError bad = memory_.copy_in(to, from, options_.run.threads);
    return bad ? error(bad->message) : bad;
  }
  MaybeError copy_out(Address from, std::span<std::byte> to) override {
    return checked(from, std::ssize(to),
                   [&] { std::memcpy(to.data(), std::bit_cast<const void*>(from), to.size()); });
  }
  MaybeError fill(Address to, std::uint32_t word, std::int64_t words) override {
    return checked(to, 4 * words,
                   [&] { std::fill_n(std::bit_cast<std::uint32_t*>(to), words, word); });
  }
  MaybeError copy_on(StreamHandle stream, Address to, Address from, std::int64_t bytes) override {
    return on(stream, [=, this] {
      if (MaybeError bad = checked(from, bytes, [] {})) return bad;
      return checked(to, bytes, [=] {
        std::memmove(std::bit_cast<void*>(to), std::bit_cast<const void*>(from),
                     static_cast<std::size_t>(bytes));
      });
    });
  }

  Result<KernelHandle> find_kernel(std::span<const std::byte> code_object,
                                   std::string_view name) override;
  MaybeError launch(StreamHandle stream, KernelHandle kernel, const LaunchSize& size,
                    std::span<const std::byte> arguments) override {
    return on(stream, [this, kernel, size,
                       bytes = std::vector<std::byte>(arguments.begin(), arguments.end())] {
      return run(kernel, size, bytes);
    });
  }

  void set_timing(const LaunchTiming& timing) override { timing_ = timing; }

  Result<StreamHandle> make_stream() override { return StreamHandle{++handles_}; }
  void release(StreamHandle) override {}
  MaybeError synchronize(StreamHandle) override { return std::nullopt; }

  Result<EventHandle> make_event() override { return EventHandle{++handles_}; }
  void release(EventHandle event) override { events_.erase(event.value); }
  MaybeError record(StreamHandle, EventHandle event) override {
    events_[event.value] = std::chrono::steady_clock::now();
    return std::nullopt;
  }
  Result<double> elapsed_ms(EventHandle from, EventHandle to) override {
    if (!events_.contains(from.value) || !events_.contains(to.value))
      return error("an event was never recorded");
    const std::chrono::duration<double, std::milli> ms = events_[to.value] - events_[from.value];
    return ms.count();
  }

  MaybeError begin_capture(StreamHandle stream) override {
    if (capturing_) return error("a capture is under way");
    capturing_ = stream;
    recorded_.clear();
    return std::nullopt;
  }
  Result<GraphHandle> end_capture(StreamHandle stream) override {
    if (!capturing_ || !(*capturing_ == stream)) return error("no capture is under way");
    capturing_.reset();
    graphs_[++handles_] = std::move(recorded_);
    recorded_.clear();
    return GraphHandle{handles_};
  }
  MaybeError replay(StreamHandle, GraphHandle graph) override {
    for (const Work& work : graphs_[graph.value])
      if (MaybeError bad = work()) return bad;
    return std::nullopt;
  }
  void release(GraphHandle graph) override { graphs_.erase(graph.value); }

  // All that stays of a fault is the memory it had written by then.
  MaybeError recover() override {
    capturing_.reset();
    return std::nullopt;
  }

 private:
  static Result<Address> address_of(const Result<std::span<std::byte>>& memory) {
    if (!memory) return memory.error();
    return std::bit_cast<Address>(memory->data());
  }
  using Work = std::function<MaybeError()>;
  struct Found {
    const gfx::CodeObject* object;
    std::string name;
    bool built_in = false;  // a kernel of this project
  };

  [[nodiscard]] Error error(const std::string& what) const {
    return {ErrorCode::fault, properties_.label + ": " + what};
  }
  template <class Access>
  MaybeError checked(Address at, std::int64_t bytes, Access access) {
    const auto ranges = memory_.ranges();
    if (bytes == 0) return std::nullopt;
    if (gfx::find_range(*ranges, at, static_cast<std::uint64_t>(bytes)) == nullptr)
      return error(say("no memory of ", bytes, " bytes at ", at));
    access();
    return std::nullopt;
  }
  MaybeError on(StreamHandle stream, Work work) {
    if (!capturing_ || !(*capturing_ == stream)) return work();
    recorded_.push_back(std::move(work));
    return std::nullopt;
  }
  MaybeError run(KernelHandle kernel, const LaunchSize& size, std::span<const std::byte> arguments);

  Arch arch_;

  EmulatedOptions options_;
  LaunchTiming timing_;
  DeviceProperties properties_;
  gfx::Memory memory_;
  std::map<const std::byte*, gfx::CodeObject> objects_;
  std::vector<Found> kernels_;  // the handle is the index plus 1
  std::uint64_t handles_ = 0;
  std::map<std::uint64_t, std::chrono::steady_clock::time_point> events_;
  std::optional<StreamHandle> capturing_;
  std::vector<Work> recorded_;
  std::map<std::uint64_t, std::vector<Work>> graphs_;
};

Result<KernelHandle> EmulatedDevice::find_kernel(std::span<const std::byte> code_object,
                                                 std::string_view name) {
  auto object = objects_.find(code_object.data());
  if (object == objects_.end()) {
    auto loaded = gfx::load_code_object(code_object, {});
    if (!loaded) return loaded.error();
    const bool fits = (loaded->arch() == gfx::Arch::gfx942) == (arch_ == Arch::gfx942);
    if (!fits) return error("the code object is for another architecture");
    object = objects_.emplace(code_object.data(), std::move(*loaded)).first;
  }
  if (object->second.kernel(name) == nullptr) return error(say("no kernel ", name));
  kernels_.push_back({&object->second, std::string(name), is_built_in(code_object)});
  return KernelHandle{kernels_.size()};
}

MaybeError EmulatedDevice::run(KernelHandle kernel, const LaunchSize& size,
                               std::span<const std::byte> arguments) {
  const Found& found = kernels_[kernel.value - 1];
  gfx::LaunchRequest request;
  request.kernel = found.name;
  request.grid = {size.grid_x, size.grid_y, size.grid_z};
  request.block = {size.threads, 1, 1};
  request.kernarg = arguments;
  request.dynamic_lds = size.lds_bytes;
  request.options = timed(options_.run, timing_);
  request.options.checks.global_notes = !found.built_in;
  const auto report = gfx::run(*found.object, request, memory_);
  if (!report) return report.error();
  if (options_.observe) options_.observe(found.name, *report);
  if (report->clean()) return std::nullopt;
  const auto& events = report->faults.empty() ? report->findings : report->faults;
  return error(found.name + ": " + events.front().line());
}

}  // namespace

// In turns of a few instructions waves stay close together; a wave that runs on to its barrier
// shows what should have been after another one.
DrawnTiming drawn_timing(std::uint64_t seed) {
  if (seed == 0) return {};
  using Mode = gfx::Arrival::Mode;
  constexpr std::array<std::uint32_t, 4> kSlices = {0, 1, 4, 64};  // 0: to the barrier
  constexpr std::array<Mode, 3> kArrivals = {Mode::early, Mode::late, Mode::random};
  const Mode arrival = kArrivals[seed / kSlices.size() % kArrivals.size()];
  return {.schedule = {.slice = kSlices[seed % kSlices.size()],
                       .order = gfx::Order::random,
                       .seed = seed},
          .arrival = {.mode = arrival, .number = arrival == Mode::random ? seed : 0}};
}

gfx::RunOptions timed(gfx::RunOptions run, const LaunchTiming& timing) {
  if (timing.checked) {
    run.checks.waits = run.checks.lds_races = true;
    run.arrival = {};
  }
  if (timing.seed == 0) return run;
  const DrawnTiming drawn = drawn_timing(timing.seed);
  run.schedule = drawn.schedule;
  // Checks and recordings follow memory that answers at once.
  if (!run.checks.any_per_instruction() && !run.profile && !run.trace) run.arrival = drawn.arrival;
  return run;
}

std::string timing_words(std::uint64_t seed) {
  const auto [schedule, arrival] = drawn_timing(seed);
  return say("--schedule ", gfx::words_of(schedule), " --arrival ", gfx::words_of(arrival));
}

std::unique_ptr<Device> make_emulated_device(Arch arch, const EmulatedOptions& options) {
  return std::make_unique<EmulatedDevice>(arch, options);
}

}  // namespace mla::hip
