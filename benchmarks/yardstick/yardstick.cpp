// How fast conjunctions of intervals can be matched by plain C++ that knows nothing else: the measure for engines.
//
//   yardstick make FOLDER subscriptions dimensions cardinality predicates event_size equality seeded [zipf]
//   yardstick run FOLDER scan|access|inline [events]
//
// `make` writes a workload as columns (.npy, 64-bit integers), `run` reads one, made here or by benchmarks/workloads,
// and prints a line of JSON: microseconds an event, ids found, bytes of the structure. Ids are sorted for each event.
// It is a program to be compared with, and no part of any engine: its values are ranks below 65,535, its subscriptions
// cannot change, and it is tuned for these workloads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::uint16_t missing = 0xFFFF;

struct Predicate {
  std::uint32_t attribute;
  std::uint16_t low;  // both included
  std::uint16_t high;
};

struct Pair {
  std::uint32_t attribute;
  std::uint16_t value;
};

struct Workload {
  std::vector<std::uint32_t> starts{0};  // of each subscription's predicates, and their end
  std::vector<Predicate> predicates;
  std::vector<std::vector<Pair>> events;
  std::uint32_t dimensions = 0;
  std::uint32_t cardinality = 0;

  std::uint32_t size() const { return static_cast<std::uint32_t>(starts.size() - 1); }
};

using Column = std::vector<std::int64_t>;

void write_column(const std::string& path, const Column& column) {
  std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (" + std::to_string(column.size()) + ",), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  const auto length = static_cast<std::uint16_t>(header.size());
  file.write("\x93NUMPY\x01\x00", 8);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(reinterpret_cast<const char*>(column.data()), static_cast<std::streamsize>(column.size() * 8));
  if (!file.flush()) {
    throw std::runtime_error("cannot write " + path);
  }
}

Column read_column(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::int64_t>(file.tellg());
  char magic[8];
  std::uint16_t length = 0;
  file.seekg(0);
  file.read(magic, sizeof magic);
  file.read(reinterpret_cast<char*>(&length), sizeof length);
  if (!file || std::memcmp(magic, "\x93NUMPY\x01\x00", 8) != 0 || (size - 10 - length) % 8 != 0) {
    throw std::runtime_error("no column of 64-bit integers: " + path);
  }
  file.seekg(10 + length);
  Column column(static_cast<std::size_t>((size - 10 - length) / 8));
  file.read(reinterpret_cast<char*>(column.data()), static_cast<std::streamsize>(column.size() * 8));
  return column;
}

void write_workload(const std::string& folder, const Workload& workload) {
  Column offsets(workload.starts.begin(), workload.starts.end()), attributes, lows, highs;
  for (const Predicate& predicate : workload.predicates) {
    attributes.push_back(predicate.attribute);
    lows.push_back(predicate.low);
    highs.push_back(predicate.high);
  }
  write_column(folder + "/subscription_offsets.npy", offsets);
  write_column(folder + "/subscription_attributes.npy", attributes);
  write_column(folder + "/subscription_lows.npy", lows);
  write_column(folder + "/subscription_highs.npy", highs);
  Column ends{0}, names, values;
  for (const auto& event : workload.events) {
    for (const Pair& pair : event) {
      names.push_back(pair.attribute);
      values.push_back(pair.value);
    }
    ends.push_back(static_cast<std::int64_t>(names.size()));
  }
  write_column(folder + "/event_offsets.npy", ends);
  write_column(folder + "/event_attributes.npy", names);
  write_column(folder + "/event_values.npy", values);
}

std::uint16_t rank(std::int64_t value) {
  if (value < 0 || value >= missing) {
    throw std::runtime_error("the yardstick takes values from 0 to 65,534, not " + std::to_string(value));
  }
  return static_cast<std::uint16_t>(value);
}

Workload read_workload(const std::string& folder) {
  Workload workload;
  const Column offsets = read_column(folder + "/subscription_offsets.npy");
  const Column attributes = read_column(folder + "/subscription_attributes.npy");
  const Column lows = read_column(folder + "/subscription_lows.npy");
  const Column highs = read_column(folder + "/subscription_highs.npy");
  workload.starts.assign(offsets.begin(), offsets.end());
  for (std::size_t at = 0; at < attributes.size(); ++at) {
    // Bounds beyond all values, which open intervals may have, are as good as the last rank.
    const auto low = rank(std::clamp<std::int64_t>(lows[at], 0, missing - 1));
    const auto high = rank(std::clamp<std::int64_t>(highs[at], 0, missing - 1));
    workload.predicates.push_back({static_cast<std::uint32_t>(attributes[at]), low, high});
    workload.dimensions = std::max(workload.dimensions, static_cast<std::uint32_t>(attributes[at]) + 1);
  }
  const Column ends = read_column(folder + "/event_offsets.npy");
  const Column names = read_column(folder + "/event_attributes.npy");
  const Column values = read_column(folder + "/event_values.npy");
  for (std::size_t event = 0; event + 1 < ends.size(); ++event) {
    auto& pairs = workload.events.emplace_back();
    for (auto at = static_cast<std::size_t>(ends[event]); at < static_cast<std::size_t>(ends[event + 1]); ++at) {
      pairs.push_back({static_cast<std::uint32_t>(names[at]), rank(values[at])});
      workload.dimensions = std::max(workload.dimensions, pairs.back().attribute + 1);
      workload.cardinality = std::max(workload.cardinality, std::uint32_t{pairs.back().value} + 1);
    }
  }
  return workload;
}

// Subscriptions of which a share is seeded: each predicate holds for the value of some event.
Workload make_workload(int subscriptions, int dimensions, int cardinality, int predicates, int event_size,
                       double equality, double seeded, double zipf) {
  constexpr int events = 1024;
  Workload workload;
  std::mt19937_64 random(42);
  std::vector<double> popularity(static_cast<std::size_t>(dimensions));
  double total = 0;
  for (int i = 0; i < dimensions; ++i) {
    popularity[static_cast<std::size_t>(i)] = total += 1 / std::pow(i + 1, zipf);
  }
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<std::uint64_t>(bound)); };
  const auto chance = [&](double share) { return below(1000) < static_cast<int>(share * 1000); };
  const auto attributes = [&](int count) {
    std::set<std::uint32_t> chosen;
    while (static_cast<int>(chosen.size()) < count) {
      const double point = std::uniform_real_distribution<double>(0, total)(random);
      chosen.insert(static_cast<std::uint32_t>(
          std::lower_bound(popularity.begin(), popularity.end(), point) - popularity.begin()));
    }
    return std::vector<std::uint32_t>(chosen.begin(), chosen.end());
  };
  for (int i = 0; i < events; ++i) {
    auto& event = workload.events.emplace_back();
    for (const std::uint32_t attribute : attributes(event_size)) {
      event.push_back({attribute, static_cast<std::uint16_t>(below(cardinality))});
    }
  }
  for (int i = 0; i < subscriptions; ++i) {
    const int count = std::clamp(predicates / 2 + 1 + below(predicates), 1, std::min(dimensions, event_size));
    std::vector<Pair> seeds;
    if (chance(seeded)) {
      seeds = workload.events[static_cast<std::size_t>(below(events))];
      std::shuffle(seeds.begin(), seeds.end(), random);
      seeds.resize(static_cast<std::size_t>(count));
    } else {
      for (const std::uint32_t attribute : attributes(count)) {
        seeds.push_back({attribute, static_cast<std::uint16_t>(below(cardinality))});
      }
    }
    for (const Pair& seed : seeds) {
      int low = seed.value, high = seed.value;
      if (!chance(equality)) {
        const int shape = below(3);  // open below, open above, closed
        low = shape == 0 ? 0 : below(seed.value + 1);
        high = shape == 1 ? cardinality - 1 : seed.value + below(cardinality - seed.value);
      }
      workload.predicates.push_back(
          {seed.attribute, static_cast<std::uint16_t>(low), static_cast<std::uint16_t>(high)});
    }
    // The narrowest first: whoever asks them in this order is done soonest.
    std::sort(workload.predicates.begin() + workload.starts.back(), workload.predicates.end(),
              [](const Predicate& a, const Predicate& b) { return a.high - a.low < b.high - b.low; });
    workload.starts.push_back(static_cast<std::uint32_t>(workload.predicates.size()));
  }
  return workload;
}

bool holds(const Predicate& predicate, const std::vector<std::uint16_t>& values) {
  const std::uint16_t value = values[predicate.attribute];
  return value != missing && static_cast<std::uint16_t>(value - predicate.low) <=
                                 static_cast<std::uint16_t>(predicate.high - predicate.low);
}

// Each method finds one event's ids, in any order.

struct Scan {
  const Workload& workload;

  std::size_t bytes() const { return 0; }

  void operator()(const std::vector<Pair>&, const std::vector<std::uint16_t>& values, std::vector<std::uint32_t>& ids) {
    const Predicate* predicate = workload.predicates.data();
    for (std::uint32_t id = 0; id < workload.size(); ++id) {
      const Predicate* const end = workload.predicates.data() + workload.starts[id + 1];
      for (predicate = workload.predicates.data() + workload.starts[id]; predicate < end; ++predicate) {
        if (!holds(*predicate, values)) {
          break;
        }
      }
      if (predicate == end) {
        ids.push_back(id);
      }
    }
  }
};

// A list of ids for each value of the first predicate, which is written into the list of each value that it covers.
struct Access {
  const Workload& workload;
  std::vector<std::vector<std::uint32_t>> lists;

  explicit Access(const Workload& all) : workload(all), lists(std::size_t{all.dimensions} * all.cardinality) {
    for (std::uint32_t id = 0; id < all.size(); ++id) {
      const Predicate& first = all.predicates[all.starts[id]];
      for (std::uint32_t value = first.low; value <= first.high && value < all.cardinality; ++value) {
        lists[std::size_t{first.attribute} * all.cardinality + value].push_back(id);
      }
    }
  }

  std::size_t bytes() const {
    return std::accumulate(lists.begin(), lists.end(), lists.size() * sizeof(lists[0]),
                           [](std::size_t sum, const auto& list) { return sum + list.size() * sizeof(list[0]); });
  }

  void operator()(const std::vector<Pair>& event, const std::vector<std::uint16_t>& values,
                  std::vector<std::uint32_t>& ids) {
    for (const Pair& pair : event) {
      for (const std::uint32_t id : lists[std::size_t{pair.attribute} * workload.cardinality + pair.value]) {
        const Predicate* predicate = workload.predicates.data() + workload.starts[id] + 1;
        const Predicate* const end = workload.predicates.data() + workload.starts[id + 1];
        while (predicate < end && holds(*predicate, values)) {
          ++predicate;
        }
        if (predicate == end) {
          ids.push_back(id);
        }
      }
    }
  }
};

// The same with the other predicates in the list, behind the id and their number.
struct Inline {
  const Workload& workload;
  std::vector<std::vector<std::uint32_t>> lists;

  explicit Inline(const Workload& all) : workload(all), lists(std::size_t{all.dimensions} * all.cardinality) {
    for (std::uint32_t id = 0; id < all.size(); ++id) {
      const Predicate& first = all.predicates[all.starts[id]];
      for (std::uint32_t value = first.low; value <= first.high && value < all.cardinality; ++value) {
        auto& list = lists[std::size_t{first.attribute} * all.cardinality + value];
        list.push_back(id);
        list.push_back(all.starts[id + 1] - all.starts[id] - 1);
        for (std::uint32_t at = all.starts[id] + 1; at < all.starts[id + 1]; ++at) {
          const Predicate& predicate = all.predicates[at];
          list.push_back(predicate.attribute);
          list.push_back(predicate.low | std::uint32_t{predicate.high} << 16);
        }
      }
    }
  }

  std::size_t bytes() const {
    return std::accumulate(lists.begin(), lists.end(), lists.size() * sizeof(lists[0]),
                           [](std::size_t sum, const auto& list) { return sum + list.size() * sizeof(list[0]); });
  }

  void operator()(const std::vector<Pair>& event, const std::vector<std::uint16_t>& values,
                  std::vector<std::uint32_t>& ids) {
    for (const Pair& pair : event) {
      const auto& list = lists[std::size_t{pair.attribute} * workload.cardinality + pair.value];
      for (const std::uint32_t *at = list.data(), *end = at + list.size(); at < end; at += 2 + 2 * at[1]) {
        bool all = true;
        for (std::uint32_t index = 0; index < at[1] && all; ++index) {
          const std::uint32_t bounds = at[3 + 2 * index];
          all = holds({at[2 + 2 * index], static_cast<std::uint16_t>(bounds), static_cast<std::uint16_t>(bounds >> 16)},
                      values);
        }
        if (all) {
          ids.push_back(at[0]);
        }
      }
    }
  }
};

// Of the processor: other programs on the machine do not count.
double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

template <class Method>
void run(const Workload& workload, Method method, const char* name, std::size_t events) {
  std::vector<std::uint16_t> values(workload.dimensions, missing);
  std::vector<std::uint32_t> ids;
  std::uint64_t found = 0;
  events = std::min(events, workload.events.size());
  const double start = seconds();
  for (std::size_t index = 0; index < events; ++index) {
    const auto& event = workload.events[index];
    for (const Pair& pair : event) {
      values[pair.attribute] = pair.value;
    }
    ids.clear();
    method(event, values, ids);
    std::sort(ids.begin(), ids.end());
    found += ids.size();
    for (const Pair& pair : event) {
      values[pair.attribute] = missing;
    }
  }
  const double taken = (seconds() - start) / static_cast<double>(events) * 1e6;
  std::printf("{\"method\": \"%s\", \"events\": %zu, \"us_an_event\": %.3f, \"ids\": %llu, \"structure_bytes\": %zu}\n", name,
              events, taken, static_cast<unsigned long long>(found), method.bytes());
}

int usage() {
  std::fputs("usage: yardstick make FOLDER subscriptions dimensions cardinality predicates event_size equality seeded "
             "[zipf]\n       yardstick run FOLDER scan|access|inline [events]\n",
             stderr);
  return 2;
}

}  // namespace

int main(int count, char** words) {
  try {
    const std::string command = count > 1 ? words[1] : "";
    if (command == "make" && (count == 10 || count == 11)) {
      write_workload(words[2], make_workload(std::atoi(words[3]), std::atoi(words[4]), std::atoi(words[5]),
                                             std::atoi(words[6]), std::atoi(words[7]), std::atof(words[8]),
                                             std::atof(words[9]), count > 10 ? std::atof(words[10]) : 0));
      return 0;
    }
    if (command == "run" && (count == 4 || count == 5)) {
      const std::string method = words[3];
      const Workload workload = read_workload(words[2]);
      const std::size_t events = count > 4 ? std::strtoull(words[4], nullptr, 10) : workload.events.size();
      if (method == "scan") {
        run(workload, Scan{workload}, "scan", events);
      } else if (method == "access") {
        run(workload, Access(workload), "access", events);
      } else if (method == "inline") {
        run(workload, Inline(workload), "inline", events);
      } else {
        return usage();
      }
      return 0;
    }
    return usage();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "yardstick: %s\n", error.what());
    return 1;
  }
}
