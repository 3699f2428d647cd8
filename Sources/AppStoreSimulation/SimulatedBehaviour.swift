import Foundation

/// The simulated App Store's answers to successive requests. The n-th request for a receipt gets the n-th step, and all
/// later requests get the last step. Requests to Production and to the sandbox count together. But if some step names
/// an environment, each environment has a count and steps of its own.
///
/// In JSON a behaviour is an array of steps (see `SimulatedStep`):
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

    /// The behaviour as compact JSON with sorted keys. Equal behaviours have equal text.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding strings, numbers and booleans into memory cannot fail.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
    }

    /// True if each environment counts its requests separately.
    var namesEnvironment: Bool { steps.contains { $0.environment != nil } }

    /// Returns the step for a request; nil if no step is for this environment.
    /// - Parameter attempt: the number of the request, from 0.
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
