// Trains the run in the folder `run`, a perceptron of 4 inputs and 3 classes, on random samples.
#include <onnxruntime_cxx_api.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

using Json = nlohmann::json;
using Tensors = std::map<std::string, Ort::Value>;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Adds the tensors of a .safetensors file, whose bytes stay in `kept`.
void load(const std::string& path, const OrtMemoryInfo* cpu, std::deque<std::string>& kept, Tensors& tensors) {
  std::string& bytes = kept.emplace_back(read(path));
  uint64_t size;
  std::memcpy(&size, bytes.data(), 8);
  for (auto& [name, one] : Json::parse(bytes.substr(8, size)).items()) {
    const auto type = one["dtype"] == "I64" ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    const auto shape = one["shape"].get<std::vector<int64_t>>();
    const auto [from, to] = one["data_offsets"].get<std::pair<size_t, size_t>>();
    void* start = bytes.data() + 8 + size + from;
    tensors.emplace(name, Ort::Value::CreateTensor(cpu, start, to - from, shape.data(), shape.size(), type));
  }
}

// `session` runs step.onnx of the folder `run`, with options.DisableMemPattern().
void train(Ort::Session& session, const std::string& run, Tensors& batch, float lr, int64_t steps) {
  const auto cpu = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  const Json updates = Json::parse(read(run + "/train.json"))["updates"];
  std::deque<std::string> kept;
  Tensors state, next;
  for (Tensors* each : {&state, &next})
    for (const char* file : {"/params.safetensors", "/state.safetensors"}) load(run + file, cpu, kept, *each);
  Ort::IoBinding binding(session);
  for (int64_t step = 1; step <= steps; ++step, std::swap(state, next)) {
    binding.BindOutput("loss", cpu);
    for (auto& [name, value] : batch) binding.BindInput(name.c_str(), value);
    binding.BindInput("lr", Ort::Value::CreateTensor(cpu, &lr, 1, nullptr, 0));
    binding.BindInput("step", Ort::Value::CreateTensor(cpu, &step, 1, nullptr, 0));
    for (auto& [input, output] : updates.items()) {
      binding.BindInput(input.c_str(), state.at(input));
      binding.BindOutput(output.get<std::string>().c_str(), next.at(input));
    }
    session.Run(Ort::RunOptions(), binding);
    std::printf("%lld %g\n", static_cast<long long>(step), *binding.GetOutputValues()[0].GetTensorData<float>());
  }
}

int main() {
  std::mt19937 random;
  std::normal_distribution<float> normal;
  std::vector<float> x(32 * 4);
  std::vector<int64_t> label(32);
  for (auto& value : x) value = normal(random);
  for (size_t row = 0; row < label.size(); ++row) label[row] = (x[4 * row] > 0) + (x[4 * row + 1] > 0);
  const int64_t sizes[] = {32, 4};
  const auto cpu = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  Tensors batch;
  batch.emplace("x", Ort::Value::CreateTensor(cpu, x.data(), x.size(), sizes, 2));
  batch.emplace("label", Ort::Value::CreateTensor(cpu, label.data(), label.size(), sizes, 1));
  Ort::Env env;
  Ort::SessionOptions options;
  options.DisableMemPattern();
  Ort::Session session(env, "run/step.onnx", options);
  train(session, "run", batch, 1e-2f, 100);
}
