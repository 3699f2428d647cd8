#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The simulated App Store's latency in milliseconds. The simulation adds the delay of a behaviour's step to it.
///
/// In JSON: `{"fixed_ms":5}`, `{"uniform_ms":[5,20]}` or `{"median_ms":40,"sigma":0.5,"cap_ms":2000}`.
public enum SimulatedLatency: Sendable, Hashable {
    case fixed(Double)
    case uniform(Double, Double)
    /// A log-normal latency: half of the answers take less than the median. `sigma` is the standard deviation of the
    /// logarithm. No answer takes longer than `cap`.
    case logNormal(median: Double, sigma: Double, cap: Double = 60_000)

    /// Returns one random latency in nanoseconds, between 0 and an hour.
    func sample(_ random: inout SplitMix64) -> Int64 {
        let milliseconds: Double
        switch self {
        case .fixed(let value): milliseconds = value
        case .uniform(let low, let high): milliseconds = low + (high - low) * random.unit()
        case .logNormal(let median, let sigma, let cap):
            // The Box–Muller transform. It has `1 - u` in place of `u`, because `u` may be 0, which has no logarithm.
            let normal = sqrt(-2 * log(1 - random.unit())) * cos(2 * Double.pi * random.unit())
            milliseconds = min(median * exp(sigma * normal), cap)
        }
        guard milliseconds > 0 else { return 0 }
        return Int64(min(milliseconds, 3_600_000) * 1_000_000)
    }
}

extension SimulatedLatency: Codable {
    private enum Key: String, CodingKey {
        case fixed = "fixed_ms"
        case uniform = "uniform_ms"
        case median = "median_ms"
        case sigma
        case cap = "cap_ms"
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if let fixed = try container.decodeIfPresent(Double.self, forKey: .fixed) {
            self = .fixed(fixed)
        } else if let bounds = try container.decodeIfPresent([Double].self, forKey: .uniform) {
            guard bounds.count == 2 else {
                throw DecodingError.dataCorruptedError(
                    forKey: .uniform, in: container, debugDescription: "uniform_ms takes two numbers")
            }
            self = .uniform(bounds[0], bounds[1])
        } else {
            self = .logNormal(
                median: try container.decode(Double.self, forKey: .median),
                sigma: try container.decode(Double.self, forKey: .sigma),
                cap: try container.decodeIfPresent(Double.self, forKey: .cap) ?? 60_000)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        switch self {
        case .fixed(let value): try container.encode(value, forKey: .fixed)
        case .uniform(let low, let high): try container.encode([low, high], forKey: .uniform)
        case .logNormal(let median, let sigma, let cap):
            try container.encode(median, forKey: .median)
            try container.encode(sigma, forKey: .sigma)
            try container.encode(cap, forKey: .cap)
        }
    }
}
