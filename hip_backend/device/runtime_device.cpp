#include "hip_backend/device/runtime_device.hpp"

#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/say.hpp"

namespace mla::hip {
namespace {

constexpr unsigned kNonBlockingStream = 1;
constexpr int kCaptureThisThread = 1;

void* pointer(std::uint64_t value) {
  return std::bit_cast<void*>(value);
}
std::uint64_t number(void* pointer) {
  return std::bit_cast<std::uint64_t>(pointer);
}

class RuntimeDevice final : public Device {
 public:
  RuntimeDevice(RuntimeApi api, int ordinal) : api_(std::move(api)), ordinal_(ordinal) {}
  ~RuntimeDevice() override {
    release_spare();
    if (context_ != nullptr) api_.destroy_context(context_);
  }
  MaybeError open();

  [[nodiscard]] const DeviceProperties& properties() const override { return properties_; }

  // Both runtimes keep the chosen device for each thread. What fails here fails in the next call.
  std::unique_lock<std::mutex> take_turn() override {
    std::unique_lock lock(turn_);
    if (api_.set_device != nullptr) api_.set_device(ordinal_);
    if (api_.set_context != nullptr) api_.set_context(context_);
    return lock;
  }

  Result<Address> allocate(std::int64_t bytes) override;
  void release(Address address) override;
  MaybeError copy_in(Address to, std::span<const std::byte> from) override {
    queued_ = true;
    return check(api_.copy_in(to, from.data(), from.size()), "copy to the device");
  }
  MaybeError copy_out(Address from, std::span<std::byte> to) override {
    return check(api_.copy_out(to.data(), from, to.size()), "copy from the device");
  }
  MaybeError fill(Address to, std::uint32_t word, std::int64_t words) override {
    if (MaybeError bad = check(api_.fill(to, word, static_cast<std::size_t>(words)), "fill"))
      return bad;
    queued_ = true;
    return std::nullopt;
  }
  MaybeError copy_on(StreamHandle stream, Address to, Address from, std::int64_t bytes) override {
    if (MaybeError bad = end_queued(stream)) return bad;
    return check(api_.copy_on(to, from, static_cast<std::size_t>(bytes), pointer(stream.value)),
                 "copy on a stream");
  }

  Result<KernelHandle> find_kernel(std::span<const std::byte> code_object,
                                   std::string_view name) override;
  MaybeError launch(StreamHandle stream, KernelHandle kernel, const LaunchSize& size,
                    std::span<const std::byte> arguments) override;

  Result<StreamHandle> make_stream() override {
    void* stream = nullptr;
    if (MaybeError bad = check(api_.stream_create(&stream, kNonBlockingStream), "make a stream"))
      return *bad;
    live_.insert(number(stream));
    return StreamHandle{number(stream)};
  }
  void release(StreamHandle stream) override {
    if (live_.erase(stream.value) == 1) api_.stream_destroy(pointer(stream.value));
  }
  MaybeError synchronize(StreamHandle stream) override {
    if (stream.value == 0) queued_ = false;
    return check(api_.stream_synchronize(pointer(stream.value)), "wait for a stream");
  }

  Result<EventHandle> make_event() override {
    void* event = nullptr;
    if (MaybeError bad = check(api_.event_create(&event, 0), "make an event")) return *bad;
    live_.insert(number(event));
    return EventHandle{number(event)};
  }
  void release(EventHandle event) override {
    if (live_.erase(event.value) == 1) api_.event_destroy(pointer(event.value));
  }
  MaybeError record(StreamHandle stream, EventHandle event) override {
    return check(api_.event_record(pointer(event.value), pointer(stream.value)), "record an event");
  }
  Result<double> elapsed_ms(EventHandle from, EventHandle to) override {
    float ms = 0;
    if (MaybeError bad = check(api_.event_synchronize(pointer(to.value)), "wait for an event"))
      return *bad;
    if (MaybeError bad = check(api_.event_elapsed(&ms, pointer(from.value), pointer(to.value)),
                               "take the time between events"))
      return *bad;
    return double{ms};
  }

  MaybeError begin_capture(StreamHandle stream) override {
    if (MaybeError bad = end_queued(stream)) return bad;
    return check(api_.capture_begin(pointer(stream.value), kCaptureThisThread), "begin a capture");
  }
  Result<GraphHandle> end_capture(StreamHandle stream) override {
    void* graph = nullptr;
    if (MaybeError bad = check(api_.capture_end(pointer(stream.value), &graph), "end a capture"))
      return *bad;
    void* executable = nullptr;
    const MaybeError bad = check(api_.graph_instantiate(&executable, graph, 0), "make a graph");
    api_.graph_destroy(graph);
    if (bad) return *bad;
    live_.insert(number(executable));
    return GraphHandle{number(executable)};
  }
  MaybeError replay(StreamHandle stream, GraphHandle graph) override {
    if (MaybeError bad = end_queued(stream)) return bad;
    return check(api_.graph_launch(pointer(graph.value), pointer(stream.value)), "replay a graph");
  }
  void release(GraphHandle graph) override {
    if (live_.erase(graph.value) == 1) api_.graph_exec_destroy(pointer(graph.value));
  }

  MaybeError recover() override;

 private:
  [[nodiscard]] MaybeError check(int error, const char* what) const {
    if (error == 0) return std::nullopt;
    const char* text = nullptr;
    if (api_.error_text != nullptr) text = api_.error_text(error);
    if (api_.error_text_of != nullptr) api_.error_text_of(error, &text);
    return Error{ErrorCode::fault, say(properties_.label, " could not ", what, ": error ", error,
                                       text == nullptr ? "" : say(", ", text))};
  }
  // The default stream runs what it is given in order; other streams do not wait for it.
  MaybeError end_queued(StreamHandle stream) {
    if (stream.value == 0 || !queued_) return std::nullopt;
    queued_ = false;
    return check(api_.device_synchronize(), "fill or copy");
  }
  void release_spare();
  MaybeError attach();
  MaybeError read_properties();
  [[nodiscard]] std::string architecture() const;

  RuntimeApi api_;
  int ordinal_;
  std::mutex turn_;
  void* context_ = nullptr;  // NVIDIA: one of our own, which can be thrown away after a fault
  DeviceProperties properties_;
  std::unordered_set<std::uint64_t> live_;           // everything handed out and not yet given back
  std::unordered_map<Address, std::int64_t> sizes_;  // of all memory, in bytes
  std::multimap<std::int64_t, Address> spare_;       // memory that was given back, by its size
  std::int64_t spare_bytes_ = 0;
  bool queued_ = false;  // the default stream may still fill memory or copy to it
  std::map<const std::byte*, void*> modules_;
  std::map<std::pair<void*, std::string>, void*> kernels_;
};

// Launches follow each other with buffers of the same sizes; getting them from the driver and
// giving them back took a fifth of a launch's time.
Result<Address> RuntimeDevice::allocate(std::int64_t bytes) {
  Address address = 0;
  if (const auto found = spare_.find(bytes); found != spare_.end()) {
    address = found->second;
    spare_.erase(found);
    spare_bytes_ -= bytes;
  } else {
    int error = api_.allocate(&address, static_cast<std::size_t>(bytes));
    if (error != 0 && !spare_.empty()) {
      release_spare();
      error = api_.allocate(&address, static_cast<std::size_t>(bytes));
    }
    if (MaybeError bad = check(error, "allocate")) return *bad;
    sizes_[address] = bytes;
  }
  live_.insert(address);
  return address;
}

void RuntimeDevice::release(Address address) {
  constexpr std::int64_t kMostSpare = std::int64_t{1} << 30;
  if (live_.erase(address) == 0) return;
  const std::int64_t bytes = sizes_[address];
  spare_.emplace(bytes, address);
  spare_bytes_ += bytes;
  if (spare_bytes_ > kMostSpare) release_spare();
}

void RuntimeDevice::release_spare() {
  for (const auto& [bytes, address] : spare_) {
    sizes_.erase(address);
    api_.release(address);
  }
  spare_.clear();
  spare_bytes_ = 0;
}

MaybeError RuntimeDevice::attach() {
  if (api_.set_device != nullptr) return check(api_.set_device(ordinal_), "be selected");
  return check(api_.make_context(&context_, 0, ordinal_), "give a context");
}

// The structure that holds gcnArchName changed its layout with HIP 6, so the name is looked for:
// no other field of it is text that begins with "gfx". Features after a colon are left out.
std::string RuntimeDevice::architecture() const {
  if (api_.device_properties == nullptr) {
    constexpr int kMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    constexpr int kMinor = 76;
    int major = 0;
    int minor = 0;
    api_.device_attribute(&major, kMajor, ordinal_);
    api_.device_attribute(&minor, kMinor, ordinal_);
    return say("sm_", 10 * major + minor);
  }
  std::vector<char> raw(8192, '\0');
  if (api_.device_properties(raw.data(), ordinal_) != 0) return "";
  const std::string_view text(raw.data(), raw.size());
  const std::size_t begin = text.find("gfx");
  if (begin == std::string_view::npos) return "";
  const std::size_t end = text.find_first_not_of("0123456789abcdefgx", begin);
  return std::string(text.substr(begin, end - begin));
}

MaybeError RuntimeDevice::read_properties() {
  std::array<char, 256> model{};
  if (MaybeError bad =
          check(api_.device_name(model.data(), model.size(), ordinal_), "say its name"))
    return bad;
  properties_.model = model.data();
  properties_.platform = api_.platform;
  properties_.arch = architecture();
  std::size_t memory = 0;
  if (MaybeError bad = check(api_.device_memory(&memory, ordinal_), "say its memory")) return bad;
  properties_.memory_bytes = static_cast<std::int64_t>(memory);
  int units = 0;
  int lds = 0;
  int version = 0;
  if (MaybeError bad =
          check(api_.device_attribute(&units, api_.numbers.attribute_compute_units, ordinal_),
                "say its compute units"))
    return bad;
  if (MaybeError bad = check(
          api_.device_attribute(&lds, api_.numbers.attribute_lds_bytes, ordinal_), "say its LDS"))
    return bad;
  if (MaybeError bad = check(api_.driver_version(&version), "say its version")) return bad;
  properties_.compute_units = units;
  properties_.lds_bytes = lds;
  properties_.driver = say(api_.library, " ", version);
  return std::nullopt;
}

MaybeError RuntimeDevice::open() {
  properties_.label = say(api_.platform == Platform::amd ? "hip:" : "nvidia:", ordinal_);
  int count = 0;
  // Without a driver or a GPU both calls give some error number; all of them mean the same here.
  const bool works = api_.init(0) == 0 && api_.device_count(&count) == 0;
  if (!works || count == 0)
    return Error{ErrorCode::fault, "no device: " + api_.library + " finds none"};
  if (ordinal_ < 0 || ordinal_ >= count)
    return Error{ErrorCode::fault, say("no device ", properties_.label, ": there are ", count)};
  if (MaybeError bad = attach()) return bad;
  return read_properties();
}

Result<KernelHandle> RuntimeDevice::find_kernel(std::span<const std::byte> code_object,
                                                std::string_view name) {
  void*& module = modules_[code_object.data()];
  if (module == nullptr)
    if (MaybeError bad = check(api_.module_load(&module, code_object.data()), "load a code object"))
      return *bad;
  void*& kernel = kernels_[{module, std::string(name)}];
  if (kernel == nullptr) {
    const std::string text(name);
    const std::string what = "find kernel " + text;
    if (MaybeError bad = check(api_.module_function(&kernel, module, text.c_str()), what.c_str()))
      return *bad;
  }
  return KernelHandle{number(kernel)};
}

MaybeError RuntimeDevice::launch(StreamHandle stream, KernelHandle kernel, const LaunchSize& size,
                                 std::span<const std::byte> arguments) {
  if (MaybeError bad = end_queued(stream)) return bad;
  if (size.lds_bytes > 0 && api_.numbers.lds_attribute_of_kernel >= 0) {
    const int error =
        api_.function_attribute(pointer(kernel.value), api_.numbers.lds_attribute_of_kernel,
                                static_cast<int>(size.lds_bytes));
    if (MaybeError bad = check(error, "give a kernel its LDS")) return bad;
  }
  std::size_t bytes = arguments.size();
  std::array<void*, 5> extra = {pointer(1), const_cast<std::byte*>(arguments.data()), pointer(2),
                                &bytes, pointer(api_.numbers.arguments_end)};
  return check(
      api_.launch(pointer(kernel.value), size.grid_x, size.grid_y, size.grid_z, size.threads, 1, 1,
                  size.lds_bytes, pointer(stream.value), nullptr, extra.data()),
      "launch a kernel");
}

MaybeError RuntimeDevice::recover() {
  live_.clear();
  sizes_.clear();
  spare_.clear();
  spare_bytes_ = 0;
  queued_ = false;
  modules_.clear();
  kernels_.clear();
  if (api_.reset_device != nullptr) {
    if (MaybeError bad = check(api_.reset_device(), "be reset")) return bad;
  } else if (context_ != nullptr) {
    api_.destroy_context(context_);  // says again what went wrong, and is destroyed nevertheless
    context_ = nullptr;
  }
  if (MaybeError bad = attach()) return bad;
  return check(api_.device_synchronize(), "work again");
}

}  // namespace

Result<std::unique_ptr<Device>> open_runtime_device(RuntimeApi api, int ordinal) {
  auto device = std::make_unique<RuntimeDevice>(std::move(api), ordinal);
  if (MaybeError bad = device->open()) return *bad;
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace mla::hip
