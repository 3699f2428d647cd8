import Foundation

/// The simulated App Store's steps, request by request. The n-th request for a receipt takes the n-th step, and the
/// last step stays. Requests count for a receipt string over both endpoints together. If some step names an
/// environment, each endpoint has its own count and its own steps.
///
/// As JSON it is an array of steps, see `SimulatedStep`:
/// `[{"answer":"status","status":21005,"times":2},"genuine"]`
public struct SimulatedBehaviour: Sendable, Hashable, ExpressibleByArrayLiteral {
    public var steps: [SimulatedStep]

    public init(_ steps: [SimulatedStep]) {
        self.steps = steps
    }

    public init(arrayLiteral elements: SimulatedStep...) {
        steps = elements
    }

    /// Returns nil if the text is not a behaviour.
    public init?(json: String) {
        guard let value = try? JSONDecoder().decode(Self.self, from: Data(json.utf8)) else { return nil }
        self = value
    }

    /// Compact JSON with sorted keys, so that equal behaviours have equal text.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding strings, numbers and booleans into memory has no way to fail.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
    }

    /// True if each endpoint counts for itself.
    var namesEnvironment: Bool { steps.contains { $0.environment != nil } }

    /// Returns the step for request number `attempt` (from 0); nil if no step is meant for this endpoint.
    func step(attempt: Int, endpoint: SimulatedEnvironment) -> SimulatedStep? {
        var remaining = attempt
        var last: SimulatedStep?
        for step in steps where step.environment == nil || step.environment == endpoint {
            last = step
            let times = max(step.times, 1)
            if remaining < times { return step }
            remaining -= times
        }
        return last
    }
}

extension SimulatedBehaviour: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let steps = try? container.decode([SimulatedStep].self) {
            self.steps = steps
        } else {
            steps = [try container.decode(SimulatedStep.self)]
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(steps)
    }
}
